"""Models with open sizes are built without any, and run at any sizes."""

import json
import threading
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from command import lanner as command_of
from command import refuse, succeed
from onnx import TensorProto, helper, numpy_helper, save

import lanner

F = np.float32


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F) * F(0.3)


def save_model(path, nodes, inputs, outputs, constants):
    """`outputs` are names without shapes; inputs that are None have no shape either."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "small",
        [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def reader(path):
    """A text recogniser: images of 48 rows and any width, two halvings of the width, a column of scores for each step."""
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], strides=[4, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["p1", "w2"], ["c2"], pads=[0, 1, 0, 1]),
        node("Squeeze", ["c2", "two"], ["s"]),
        node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["t", "w3"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=2),
    ]
    constants = {"w1": draw(8, 3, 3, 3), "w2": draw(16, 8, 6, 3, seed=1), "w3": draw(16, 11, seed=2), "two": np.array([2])}
    return save_model(path, nodes, {"x": ["?", 3, "?", "?"]}, ["y"], constants)


def sound(path):
    """Frames of 400 samples every 160, as for mel spectrograms, and a mean over pairs of them."""
    node = helper.make_node
    nodes = [
        node("Unsqueeze", ["samples", "one"], ["u"]),
        node("Conv", ["u", "w"], ["c"], strides=[160]),
        node("Relu", ["c"], ["r"]),
        node("AveragePool", ["r"], ["y"], kernel_shape=[2], strides=[2]),
    ]
    return save_model(path, nodes, {"samples": ["batch", "samples"]}, ["y"], {"w": draw(6, 1, 400), "one": np.array([1])})


def flattened(path):
    """Accepts only 32 x 32 images, which its input type does not say; the size is computed from the shape."""
    node = helper.make_node
    nodes = [
        node("AveragePool", ["x"], ["p"], kernel_shape=[8, 8], strides=[8, 8]),
        node("Shape", ["p"], ["shape"]),
        node("Slice", ["shape", "zero", "one"], ["batch"]),
        node("Concat", ["batch", "rest"], ["target"], axis=0),
        node("Reshape", ["p", "target"], ["f"]),
        node("MatMul", ["f", "w"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "one": np.array([1]), "rest": np.array([-1]), "w": draw(48, 5)}
    return save_model(path, nodes, {"x": ["", 3, "H", "W"]}, ["y"], constants)


def two_rows(path, dims=("?", "?"), more=("?", "?")):
    """Sums of two inputs, each over its own rows."""
    node = helper.make_node
    nodes = [
        node("ReduceSum", ["a"], ["p"], keepdims=0),
        node("ReduceSum", ["b"], ["q"], keepdims=0),
        node("Add", ["p", "q"], ["y"]),
    ]
    return save_model(path, nodes, {"a": list(dims), "b": list(more)}, ["y"], {})


MODELS = {
    "reader": (reader, [{"x": (1, 3, 48, 192)}, {"x": (2, 3, 48, 100)}, {"x": (1, 3, 48, 321)}]),
    "sound": (sound, [{"samples": (1, 720)}, {"samples": (3, 16000)}, {"samples": (2, 1111)}]),
    "flattened": (flattened, [{"x": (1, 3, 32, 32)}, {"x": (5, 3, 32, 32)}]),
    "two_rows": (two_rows, [{"a": (2, 3), "b": (4, 5)}, {"a": (7, 1), "b": (1, 1)}, {"a": (3, 3), "b": (3, 3)}]),
}


@pytest.fixture(params=sorted(MODELS))
def known(request, tmp_path):
    make, shapes = MODELS[request.param]
    return make(tmp_path / f"{request.param}.onnx"), shapes


@pytest.fixture
def read(tmp_path):
    return reader(tmp_path / "reader.onnx")


def feeds(shapes):
    return {name: draw(*shape, seed=len(shape) + shape[-1]) for name, shape in shapes.items()}


def build(model, **options):
    options.setdefault("budget", 0.5)
    return lanner.build(model, threads=1, **{"device": "cpu"} | options)


def quiet(run, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return run(*arguments)


def check_runs(run, model, all_shapes):
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for _ in range(2):
        for shapes in all_shapes:
            given = feeds(shapes)
            np.testing.assert_allclose(quiet(run, given)["y"].numpy(), session.run(None, given)[0], rtol=1e-4, atol=1e-4)


def test_model_is_built_without_sizes_and_runs_at_any(known):
    model, shapes = known
    engine = build(model)
    assert engine.open_sizes
    check_runs(engine, model, shapes)
    check_runs(engine.create_context(), model, shapes)


def test_a_plan_with_open_sizes_runs_in_several_contexts_at_once(known, tmp_path):
    model, shapes = known
    path = tmp_path / "open.plan"
    build(model).save(path)
    for _ in range(2):
        engine = lanner.load(path)
        assert engine.open_sizes
        failed = []

        def work(order, engine=engine, failed=failed):
            try:
                check_runs(engine.create_context(), model, order)
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work, args=(order,)) for order in (shapes, shapes[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        engine.save(path)


def test_commands_choose_sizes_that_fit_and_say_which(known, tmp_path):
    model, _ = known
    path = tmp_path / "open.plan"
    succeed("build", model, "-o", path, "--budget", "0.2s", "--device", "cpu")
    for file in (model, path):
        budget = ["--budget", "0.2s"] if file == model else []
        for command in (["bench", "--duration", "50ms"], ["verify", "--runs", 1], ["explain"]):
            done = command_of(command[0], file, *command[1:], *budget, "--device", "cpu", "--json")
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)
            if command[0] != "explain" or file == model:
                assert "open sizes of the model were set to " in done.stderr, (command, done.stderr)
    given = [f"{name}:{'x'.join(map(str, shape))}" for name, shape in MODELS[model.stem][1][1].items()]
    flags = [word for shape in given for word in ("--shape", shape)]
    for command in (["bench", "--duration", "50ms"], ["verify", "--runs", 1]):
        done = command_of(command[0], path, *command[1:], *flags, "--device", "cpu", "--json")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    told = json.loads(succeed("explain", path, "--device", "cpu", "--json"))
    assert told["open_sizes"] and "for" in told["notes"][0]


def test_small_friendly_sizes(read, tmp_path):
    assert build(read).sample_shapes() == {"x": (1, 3, 48, 48)}
    assert build(read).sample_shapes(batch=4) == {"x": (4, 3, 48, 48)}
    assert build(sound(tmp_path / "sound.onnx")).sample_shapes() == {"samples": (1, 576)}
    assert build(flattened(tmp_path / "flat.onnx")).sample_shapes() == {"x": (1, 3, 32, 32)}
    rows = build(two_rows(tmp_path / "rows.onnx"))
    assert rows.sample_shapes({"a": (5, 6)}) == {"a": (5, 6), "b": (1, 1)}
    with pytest.raises(lanner.InvalidArgument, match="no input 'c'"):
        rows.sample_shapes({"c": (1,)})
    picture = save_model(
        tmp_path / "any.onnx", [helper.make_node("GlobalAveragePool", ["x"], ["y"])], {"x": ["N", 3, "H", "W"]}, ["y"], {}
    )
    assert build(picture).sample_shapes() == {"x": (1, 3, 224, 224)}


def test_verify_reports_the_shapes(read):
    engine = build(read)
    assert quiet(engine.verify).shapes == {"x": (1, 3, 48, 48)}
    assert quiet(lambda: engine.verify({"x": (2, 3, 48, 60)}, runs=1)).shapes == {"x": (2, 3, 48, 60)}


def test_a_model_without_fitting_sizes_is_refused(tmp_path):
    """The number of rows would have to be three in one node and four in another."""
    nodes = [helper.make_node("Reshape", ["x", name], [name + "_y"]) for name in ("three", "four")]
    constants = {"three": np.array([3, 5]), "four": np.array([4, 5])}
    model = save_model(tmp_path / "never.onnx", nodes, {"x": ["N", 5]}, ["three_y", "four_y"], constants)
    refused = refuse("bench", model, "--device", "cpu")
    assert "no sizes were found that the model takes for x: f32[N, 5]" in refused and "--shape" in refused
    succeed("build", model, "-o", tmp_path / "never.plan", "--device", "cpu")
    assert json.loads(succeed("build", model, "-o", tmp_path / "never.plan", "--device", "cpu", "--json"))["open_sizes"]


def test_a_dim_that_is_dropped_has_to_be_one(read):
    """Open sizes are still checked inside the model."""
    engine = build(read)
    with pytest.raises(lanner.InvalidArgument, match=r"x: \[1, 3, 64, 64\] does not fit the model: node .*squeeze: dim 2"):
        engine({"x": draw(1, 3, 64, 64)})


def ahead(engine):
    return [(list(one["shapes"].values())[0], one["ahead"]) for one in engine.explain()["variants"]]


def test_the_first_run_times_nothing_unless_requested(read):
    shape = (1, 3, 48, 96)
    engine = build(read)
    with pytest.warns(RuntimeWarning, match="was given no sizes of x") as said:
        engine({"x": draw(*shape)})
        engine({"x": draw(2, 3, 48, 96)})
    assert len(said) == 1
    assert ([*shape], False) in ahead(engine)
    timed = build(read, tune_at_run=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        timed({"x": draw(*shape)})
    assert ahead(timed) == [([*shape], True)]
    assert any(one["measured"] for node in timed.explain()["nodes"] for one in node.get("considered", []))


def test_pins_not_kept_are_reported_when_kernels_are_chosen(tmp_path):
    model, shapes = two_rows(tmp_path / "rows.onnx"), {"a": (2, 3), "b": (4, 5)}
    for first in (lambda engine: engine(feeds(shapes)), lambda engine: engine.prepare(shapes)):
        with pytest.warns(RuntimeWarning, match="sizes are open, so only the first run can check whether kernels comply with precision fp32 with 1 pin; it warns where one does not"):
            engine = build(model, pins={"*": "bf16"})
        with pytest.warns(RuntimeWarning, match=r"pin '\*=bf16' is not kept by"):
            first(engine)


def test_size_names_that_differ_in_punctuation_stay_distinct(tmp_path):
    nodes = [helper.make_node("Relu", ["a"], ["p"]), helper.make_node("Relu", ["b"], ["q"]), helper.make_node("Relu", ["c"], ["r"])]
    model = save_model(tmp_path / "signs.onnx", nodes, {"a": ["a-b", "past + 1"], "b": ["a_b", "past - 1"], "c": ["a-b", "a.b"]}, ["p", "q", "r"], {})
    engine = build(model)
    shapes = {"a": (2, 3), "b": (4, 5), "c": (2, 7)}
    assert {name: value.shape for name, value in engine(feeds(shapes)).items()} == {"p": (2, 3), "q": (4, 5), "r": (2, 7)}
    with pytest.raises(ValueError):
        engine(feeds(shapes | {"c": (3, 7)}))
    build(model, shapes=shapes)
    with pytest.raises(ValueError):
        build(model, shapes=shapes | {"c": (3, 7)})


def test_generated_size_names_do_not_clash_with_the_models(tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["p"]), helper.make_node("Relu", ["y"], ["q"])]
    model = save_model(tmp_path / "made_up.onnx", nodes, {"x": ["?", 2], "y": ["x_0", 2]}, ["p", "q"], {})
    shapes = {"x": (2, 2), "y": (3, 2)}
    assert {name: value.shape for name, value in build(model)(feeds(shapes)).items()} == {"p": (2, 2), "q": (3, 2)}


def with_open_rows(path, nodes, dtype=TensorProto.FLOAT):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", dtype, ["n", 3, "h", "w"])], [value("y", dtype, None)])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


# A processor with AVX512-BF16 has kernels in bf16.
@pytest.mark.parametrize("precision", ["fp16"] if "avx512_bf16" in Path("/proc/cpuinfo").read_text() else ["fp16", "bf16", "fp16,bf16"])
def test_precision_that_no_size_allows_is_reported_by_the_build(tmp_path, precision):
    """A CPU computes in f32, whatever the sizes."""
    model = with_open_rows(tmp_path / "open.onnx", [helper.make_node("Relu", ["x"], ["y"])])
    with pytest.warns(RuntimeWarning) as said:
        engine = build(model, precision=precision)
    told = [str(one.message) for one in said if "precision" in str(one.message)]
    assert len(told) == precision.count(",") + 1
    assert all("has no effect: no kernel computes in it on a CPU" in line for line in told), told
    assert engine({"x": draw(1, 3, 4, 4)})["y"].shape == (1, 3, 4, 4)
    with pytest.raises(lanner.Error, match=r"build .*open.onnx: precision .* \(strict\): no kernel computes in it on a CPU, whatever the sizes, and y \(relu\) has to; pin it to fp32"):
        build(model, precision=precision, strict=True, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(model, precision="fp32", strict=True, device="cpu")
        build(model)


def test_size_arithmetic_does_not_break_a_strict_precision(tmp_path):
    """It is folded when the sizes are known, so the first run decides; no kernel computes it."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Cast", ["s"], ["r"], to=TensorProto.FLOAT), helper.make_node("Sqrt", ["r"], ["q"]),
             helper.make_node("Cast", ["q"], ["i"], to=TensorProto.INT64), helper.make_node("Mul", ["i", "i"], ["t"]), helper.make_node("Expand", ["x", "t"], ["y"])]  # fmt: skip
    model = with_open_rows(tmp_path / "sizes.onnx", nodes, TensorProto.INT32)
    with pytest.warns(RuntimeWarning, match="so only the first run can check whether kernels comply with .*; it fails where one does not"):
        engine = build(model, precision="fp16", strict=True, device="cpu")
    x = np.arange(1 * 3 * 4 * 4, dtype=np.int32).reshape(1, 3, 4, 4)
    assert (engine({"x": x})["y"].numpy() == x).all()


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.UINT8])
def test_strict_precision_that_depends_on_sizes_is_checked_by_the_first_run(tmp_path, dtype):
    model = with_open_rows(tmp_path / "other.onnx", [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2])], dtype)
    with pytest.warns(RuntimeWarning, match=r"kernels comply with precision fp16 \(strict\); it fails where one does not"):
        build(model, precision="fp16", strict=True, device="cpu")


def test_a_missing_gpu_is_reported_before_open_sizes(tmp_path):
    try:
        lanner.build(with_open_rows(tmp_path / "there.onnx", [helper.make_node("Relu", ["x"], ["y"])]), device="cuda:0")
        pytest.skip("there is a GPU")
    except lanner.Error:
        pass
    model = with_open_rows(tmp_path / "open.onnx", [helper.make_node("Relu", ["x"], ["y"])])
    for options in ({}, {"strict": True}, {"precision": "fp16", "strict": True}, {"precision": "bf16"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(lanner.Error, match="cuda:0: CUDA cannot be used here: .*install NVIDIA's driver, or use device cpu"):
                build(model, device="cuda:0", **options)


def test_prepare_chooses_kernels_ahead_of_the_run(read, tmp_path):
    shape = (1, 3, 48, 96)
    engine = build(read)
    engine.prepare({"x": shape})
    path = tmp_path / "prepared.plan"
    engine.save(path)
    for one in (engine, lanner.load(path)):
        assert one.open_sizes and ahead(one) == [([*shape], True)]
        assert one.explain()["shapes"] == {"x": [*shape]}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one({"x": draw(*shape)})
    with pytest.raises(lanner.InvalidArgument, match="prepare: the shapes given leave sizes open.* x: f32"):
        build(read).prepare({})


def test_a_plan_may_be_tuned_as_it_runs(read, tmp_path):
    path = tmp_path / "open.plan"
    build(read).save(path)
    engine = lanner.load(path, tune_at_run=True)
    engine({"x": draw(1, 3, 48, 64)})
    assert ahead(engine) == [([1, 3, 48, 64], True)]
    build(read, budget=0).save(path)
    with pytest.raises(lanner.InvalidArgument, match="tune_at_run: this engine times nothing"):
        lanner.load(path, tune_at_run=True)
    with pytest.raises(lanner.InvalidArgument, match="tune_at_run: this engine times nothing"):
        build(read, deterministic=True, tune_at_run=True)


def test_known_sizes_are_tuned_by_the_build(read):
    for options in (
        {"shapes": {"x": (1, 3, 48, 96)}},
        {"shapes": {"x": ((1, 3, 48, 32), (1, 3, 48, 96), (4, 3, 48, 640))}},
        {"profiles": [{"x": ((1, 3, 48, 32), (1, 3, 48, 96), (4, 3, 48, 640))}]},
        {"preprocess": {"x": lanner.Preprocess(size=(48, 96))}},
    ):
        engine = build(read, **options)
        assert not engine.open_sizes
        assert ahead(engine) == [([1, 3, 48, 96], True)]


def test_a_profile_may_leave_others_open(tmp_path):
    model = two_rows(tmp_path / "rows.onnx")
    engine = build(model, profiles=[{"a": ((1, 1), (2, 3), (9, 9))}])
    assert engine.open_sizes
    check_runs(engine, model, MODELS["two_rows"][1])


@pytest.mark.parametrize("dims", [("?", "?"), ("", ""), ("-1", "-1"), ("unk__12", "unk__12"), ("None", "None"), (None, None)])
def test_sizes_without_a_name_are_independent(tmp_path, dims):
    model = two_rows(tmp_path / "rows.onnx", dims, dims)
    engine = build(model)
    names = [name for binding in engine.inputs for name in binding.shape]
    assert len(set(names)) == 4, names
    check_runs(engine, model, MODELS["two_rows"][1])
    fixed = build(model, shapes={"a": (2, 3), "b": (4, 5)})
    assert [binding.shape for binding in fixed.inputs] == [(2, 3), (4, 5)]


def test_sizes_with_the_same_name_must_be_equal(tmp_path):
    model = two_rows(tmp_path / "rows.onnx", ("n", 4), ("n", 2))
    engine = build(model)
    assert engine.sample_shapes({"a": (3, 4)}) == {"a": (3, 4), "b": (3, 2)}
    said = r"shape: n is 5 at dim 0 of b and 3 at dim 0 of a; expected one size"
    with pytest.raises(lanner.InvalidArgument, match=said):
        build(model, shapes={"a": (3, 4), "b": (5, 2)})
    with pytest.raises(lanner.InvalidArgument, match="shape: n is 5 at dim 0 of b and 1 to 8, opt 2 at dim 0 of a"):
        build(model, shapes={"a": ((1, 4), (2, 4), (8, 4)), "b": (5, 2)})
    refused = refuse("build", model, "-o", tmp_path / "x.plan", "--shape", "a:3x4", "--shape", "b:5x2")
    assert "n is 5 at dim 0 of b and 3 at dim 0 of a" in refused
    assert not (tmp_path / "x.plan").exists()


def test_a_shape_that_contradicts_the_file_is_an_error(read, tmp_path):
    refused = refuse("build", read, "-o", tmp_path / "x.plan", "--shape", "x:1x4x48x96")
    assert "dim 1 is 3 in the model, got 4" in refused
    succeed("build", read, "-o", tmp_path / "x.plan", "--shape", "x:1x3x48x192", "--budget", 0, "--device", "cpu")
    assert lanner.load(tmp_path / "x.plan").inputs[0].shape == (1, 3, 48, 192)


def test_a_state_starts_empty(tmp_path):
    """Rows that accumulate from run to run."""
    nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=0), helper.make_node("ReduceSum", ["present"], ["y"], keepdims=0)]
    model = save_model(tmp_path / "cache.onnx", nodes, {"past": ["?", 3], "x": ["?", 3]}, ["y", "present"], {})
    engine = build(model, states={"past": "present"})
    assert engine.open_sizes and engine.sample_shapes() == {"past": (0, 3), "x": (1, 3)}
    context = engine.create_context()
    x = np.ones((2, 3), F)
    for turn in (1, 2, 3):
        assert float(quiet(context, {"x": x})["y"].numpy()) == 6 * turn


def test_storage_any_needs_sizes(read):
    with pytest.raises(lanner.InvalidArgument, match="storage any: .* x: f32.*; give shapes"):
        build(read, storages={"x": "any"})


def test_inputs_of_any_rank(tmp_path):
    model = save_model(tmp_path / "any.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"x": None}, ["y"], {})
    engine = build(model)
    assert engine.open_sizes and engine.sample_shapes() == {"x": ()}
    for shape in ((), (3,), (2, 3, 4)):
        assert quiet(engine, {"x": draw(*shape) if shape else np.array(1, F)})["y"].shape == shape
