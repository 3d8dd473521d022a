"""Engines through the Python interface."""

import functools
import pathlib
import threading
import warnings

import numpy as np
import pytest

lanner = pytest.importorskip("lanner")

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHAPES = ROOT / "demo" / "shapes.onnx"
DATA = ROOT.parent / "shared" / "data" / "models"


@pytest.fixture(scope="module")
def engine():
    return lanner.build(SHAPES, shapes={"input": (1, 3, 192, 320)}, threads=1, budget=0)


@pytest.fixture
def picture():
    return np.random.default_rng(0).random((1, 3, 192, 320), dtype=np.float32)


def test_bindings_have_names_types_and_shapes(engine):
    (binding,) = engine.inputs
    assert (binding.name, binding.dtype, binding.shape) == ("input", "f32", (1, 3, 192, 320))
    assert [output.name for output in engine.outputs] == ["boxes", "scores"]
    assert engine.metadata["lanner.task"] == "detect"


def test_agrees_with_onnxruntime(engine, picture):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(SHAPES, providers=["CPUExecutionProvider"])
    expected = dict(zip(["boxes", "scores"], session.run(["boxes", "scores"], {"input": picture}), strict=True))
    for name, tensor in engine({"input": picture}).items():
        np.testing.assert_allclose(tensor, expected[name], atol=2e-5)


def test_results_stay_valid_after_later_runs(engine, picture):
    first = engine({"input": picture})["scores"].numpy()
    kept = first.copy()
    engine({"input": picture * 0.5})
    np.testing.assert_array_equal(first, kept)


def test_plans_give_equal_answers(engine, picture, tmp_path):
    engine.save(tmp_path / "shapes.plan")
    assert [path.name for path in tmp_path.iterdir()] == ["shapes.plan"]
    loaded = lanner.load(tmp_path / "shapes.plan", threads=1)
    for name, tensor in loaded({"input": picture}).items():
        np.testing.assert_array_equal(tensor, engine({"input": picture})[name])


def test_a_precision_without_effect_is_a_warning(picture):
    shapes = {"input": (1, 3, 192, 320)}
    with pytest.warns(RuntimeWarning, match="precision fp16 has no effect") as found:
        built = lanner.build(SHAPES, shapes=shapes, threads=1, budget=0, precision="fp16", device="cpu")
    assert len(found) == 1
    assert "precision fp16 has no effect" in built.explain()["notes"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lanner.build(SHAPES, shapes=shapes, threads=1, budget=0, device="cpu").explain()["notes"] == []
        with pytest.raises(RuntimeWarning, match="fp16"):
            lanner.build(SHAPES, shapes=shapes, threads=1, budget=0, precision="fp16", device="cpu")


def test_placement_is_by_name_within_the_devices(picture):
    shapes = {"input": (1, 3, 192, 320)}
    build = functools.partial(lanner.build, SHAPES, shapes=shapes, threads=1, budget=0)
    built = build(device=["cpu"], placement={"*": "cpu"}, strict=False).explain()
    assert built["target"]["placement"] == {"nodes": [{"pattern": "*", "device": "cpu"}], "strict": False}
    assert {node["device"] for node in built["nodes"]} == {"cpu"} and built["notes"] == []
    for words, said in [
        ({"device": "cpu", "placement": {"nothing": "cpu"}}, "placement 'nothing=cpu': no node"),
        ({"device": "cpu", "placement": {"*": "cuda:0"}}, "the engine's devices are cpu"),
        ({"device": "cpu,cuda:0"}, "device cuda:0 with cpu"),
        ({"device": ["cuda:0", "cuda:0"]}, "comes twice"),
    ]:
        with pytest.raises(lanner.InvalidArgument, match=said):
            build(**words)


def test_a_plan_truncated_while_in_use_stays_valid(engine, picture, tmp_path):
    plan = tmp_path / "shapes.plan"
    engine.save(plan)
    loaded = lanner.load(plan, threads=1)
    plan.write_bytes(b"")
    np.testing.assert_array_equal(loaded({"input": picture})["boxes"], engine({"input": picture})["boxes"])


def test_models_come_from_bytes_files_and_protobufs(picture):
    onnx = pytest.importorskip("onnx")
    for model in (SHAPES.read_bytes(), SHAPES.open("rb"), onnx.load(SHAPES), str(SHAPES)):
        built = lanner.build(model, shapes={"input": (1, 3, 192, 320)}, threads=1, budget=0)
        assert built({"input": picture})["boxes"].shape == (1, 960, 4)


def test_threads_share_an_engine(engine, picture):
    expected = engine({"input": picture})["scores"].numpy()
    wrong = []

    def work():
        for _ in range(5):
            if not np.array_equal(engine({"input": picture})["scores"], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_profile_names_every_step(engine, picture):
    context = engine.create_context(profile=True)
    assert context.profile() == []
    context({"input": picture})
    steps = context.profile()
    assert all(step["runs"] == 1 and step["backend"] and step["kernel"] for step in steps)
    assert sum(step["flops"] for step in steps) > 1e7


def test_explain_covers_every_source_node(engine):
    explained = engine.explain()
    assert explained["memory"]["arena_bytes"] > 0
    kinds = " ".join(node["kind"] for node in explained["nodes"])
    assert "conv" in kinds
    assert all(any(one["chosen"] for one in node["considered"]) for node in explained["nodes"] if node["considered"])


def test_open_sizes_run_at_any_size_of_the_profile(picture):
    ranged = lanner.build(
        SHAPES, shapes={"input": ((1, 3, 192, 320), (2, 3, 192, 320), (4, 3, 192, 320))}, threads=1, budget=0
    )
    for batch in (1, 3, 4):
        assert ranged({"input": np.repeat(picture, batch, axis=0)})["boxes"].shape == (batch, 960, 4)
    with pytest.raises(lanner.InvalidArgument, match="built for 1 to 4"):
        ranged({"input": np.repeat(picture, 5, axis=0)})


def test_profiles_are_prepared_and_other_shapes_run(engine, picture, tmp_path):
    profiles = [{"input": ((1, 3, 192, 320), (1, 3, 192, 320), (2, 3, 192, 320))}, {"input": (4, 3, 192, 320)}]
    lanner.build(SHAPES, profiles=profiles, threads=1, budget=0).save(tmp_path / "two.plan")
    ranged = lanner.load(tmp_path / "two.plan", threads=1)
    assert [one["shapes"]["input"][0] for one in ranged.explain()["variants"]] == [1, 4]
    expected = engine({"input": picture})["boxes"].numpy()
    context = ranged.create_context()
    for batch in (1, 4, 2, 4, 5, 1):
        boxes = context({"input": np.repeat(picture, batch, axis=0)})["boxes"].numpy()
        assert boxes.shape[0] == batch
        for one in boxes:
            np.testing.assert_allclose(one, expected[0], atol=1e-3)
    with pytest.raises(ValueError, match="profile 2: the model has no input 'x'"):
        lanner.build(SHAPES, profiles=[profiles[0], {"x": (1, 3, 192, 320)}], threads=1, budget=0)
    for wrong in ([7], ["input"], 7, {"input": (1, 3, 192, 320)}):
        with pytest.raises(TypeError, match="profiles|build"):
            lanner.build(SHAPES, profiles=wrong, threads=1, budget=0)


def test_several_variants_are_prepared_and_kept(tmp_path):
    open_engine = lanner.build(SHAPES, shapes={"input": ((1, 3, 192, 320), (1, 3, 192, 320), (4, 3, 192, 320))}, threads=1, budget=0)
    stages = []
    open_engine.prepare({"input": (2, 3, 192, 320)}, progress=lambda stage, done, total: stages.append(stage))
    open_engine.prepare([{"input": (3, 3, 192, 320)}, {}], threads=[1, 2])
    open_engine.save(tmp_path / "prepared.plan")
    variants = lanner.load(tmp_path / "prepared.plan", threads=1).explain()["variants"]
    assert [(one["shapes"]["input"][0], one["threads"]) for one in variants] == [(1, 1), (2, 1), (3, 1), (1, 2), (3, 2)]
    assert "tune" in stages
    with pytest.raises(ValueError, match="built for 1 to 4"):
        open_engine.prepare({"input": (5, 3, 192, 320)})
    for wrong in (7, [7], {"input": "large"}, {3: (1, 3, 192, 320)}):
        with pytest.raises(TypeError, match="shapes|prepare"):
            open_engine.prepare(wrong)
    with pytest.raises(TypeError, match="threads"):
        open_engine.prepare({}, threads=["many"])


def test_errors_are_one_line_and_subclass_builtin_exceptions(engine, picture, tmp_path):
    with pytest.raises(FileNotFoundError, match="absent.onnx"):
        lanner.build(tmp_path / "absent.onnx")
    with pytest.raises(ValueError, match="there is input"):
        engine({"inptu": picture})
    with pytest.raises(ValueError, match="input input: f32.* expected, got f64.*; convert it first"):
        engine({"input": picture.astype(np.float64)})
    (tmp_path / "noise.onnx").write_bytes(np.random.default_rng(1).bytes(4096))
    with pytest.raises(lanner.BadData) as caught:
        lanner.build(tmp_path / "noise.onnx")
    assert "\n" not in str(caught.value)


def test_a_frame_or_picture_can_be_bound_with_preprocessing(picture):
    spec = lanner.Preprocess(size=(192, 320), range=(0, 1))
    built = lanner.build(
        SHAPES, shapes={"input": (1, 3, 192, 320)}, threads=1, budget=0, preprocess={"input": spec}
    )
    pixels = (picture[0].transpose(1, 2, 0) * 255).astype(np.uint8)
    image = lanner.Image(np.ascontiguousarray(pixels))
    by_hand = built({"input": pixels.transpose(2, 0, 1)[None].astype(np.float32) / 255})
    np.testing.assert_allclose(built({"input": image})["scores"], by_hand["scores"], atol=1e-4)


@pytest.mark.skipif(not DATA.exists(), reason="../shared/data is not there")
def test_squeezenet_classifies_the_orange():
    built = lanner.build(DATA / "squeezenet_fp16.onnx", threads=2, budget=0)
    x = lanner.load_image(DATA / "orange.png").to_tensor(preset="caffe", size=(224, 224), dtype="float16")
    scores = built({built.inputs[0].name: x})[built.outputs[0].name].numpy().astype(np.float32).ravel()
    labels = (DATA / "imagenet_labels.txt").read_text().splitlines()
    assert "orange" in labels[scores.argmax()]
    assert scores.max() == pytest.approx(0.98, abs=0.01)


class TestTensor:
    def test_numpy_shares_memory_both_ways(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = lanner.Tensor(array)
        array[0, 0] = 9
        assert tensor.numpy()[0, 0] == 9
        assert (tensor.shape, tensor.dtype, tensor.nbytes, len(tensor)) == ((2, 3), "float32", 24, 2)

    def test_dlpack_both_ways(self):
        array = np.arange(4, dtype=np.int64)
        through = np.from_dlpack(lanner.Tensor(array))
        np.testing.assert_array_equal(through, array)

        class Exporter:
            def __dlpack__(self, **options):
                return array.__dlpack__()

            def __dlpack_device__(self):
                return array.__dlpack_device__()

        np.testing.assert_array_equal(lanner.Tensor(Exporter()), array)

    def test_an_array_of_cuda_needs_a_gpu(self):
        class Array:
            def __init__(self, **facts):
                self.__cuda_array_interface__ = {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (4096, False)} | facts

        for facts, line in [({}, "CUDA|address 0x1000"), ({"typestr": ">f4"}, "typestr '>f4'"), ({"strides": (12, 3)}, "3 bytes is not a multiple"),
                            ({"strides": (4,)}, "1 strides of 2 dimensions"), ({"mask": 3}, "a mask")]:  # fmt: skip
            with pytest.raises((lanner.Unsupported, lanner.InvalidArgument), match=line) as caught:
                lanner.Tensor(Array(**facts))
            assert "\n" not in str(caught.value)
        for facts in ({"shape": None}, {"shape": ("a",)}, {"typestr": 4}, {"data": None}, {"data": ("x", 1, 2)}):
            with pytest.raises(TypeError, match="__cuda_array_interface__: .*expected a dict of shape"):
                lanner.Tensor(Array(**facts))
        assert lanner.Tensor(Array(shape=(0, 3), data=(0, False))).shape == (0, 3)

    @pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex64"])
    def test_types_of_numpy(self, dtype):
        array = np.array([[0, 1], [1, 0]], dtype=dtype)
        tensor = lanner.Tensor(array)
        assert tensor.dtype == dtype
        np.testing.assert_array_equal(tensor, array)

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4", "uint4"])
    def test_types_of_ml_dtypes(self, dtype):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        array = np.array([0, 1, 3, -2 if not dtype.startswith("u") else 2, 5], dtype=getattr(ml_dtypes, dtype))
        np.testing.assert_array_equal(lanner.Tensor(array).numpy(), array)

    def test_strings(self):
        np.testing.assert_array_equal(lanner.Tensor(np.array(["a", "bc"])).numpy(), np.array(["a", "bc"], dtype=object))

    def test_strided_and_foreign_byte_order_arrays_are_accepted(self):
        array = np.arange(12, dtype=">i4").reshape(3, 4)[:, ::2]
        np.testing.assert_array_equal(lanner.Tensor(array), array)
