"""Calls of engines and contexts: accepted arguments, and no leftovers of one call in the next."""

import gc
import os
import signal
import threading
import weakref

import numpy as np
import pytest
from onnx import TensorProto, helper

lanner = pytest.importorskip("lanner")

ONES = np.ones(3, np.float32)
FLOAT, STRING, INT64 = TensorProto.FLOAT, TensorProto.STRING, TensorProto.INT64


def network(kind, inputs=("x",), shape=("n",), dtype=FLOAT, result=FLOAT):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, ["y"])],
        "small",
        [value(name, dtype, shape) for name in inputs],
        [value("y", result, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def build(*arguments, preprocess=None, **options):
    return lanner.build(network(*arguments, **options), budget=0, threads=1, preprocess=preprocess or {})


class Array:
    """An array with DLPack only; `meanwhile` is called during its conversion."""

    def __init__(self, array, meanwhile=lambda: None):
        self.array, self.meanwhile = array, meanwhile

    def __dlpack__(self, **options):
        self.meanwhile()
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture(scope="module")
def relu():
    return build("Relu")


@pytest.mark.parametrize("of", [lambda engine: engine, lambda engine: engine.create_context()])
class TestInputs:
    def test_inputs_of_an_earlier_call_are_not_reused(self, of):
        add = of(build("Add", ("x", "z")))
        add({"x": ONES, "z": ONES})
        with pytest.raises(lanner.InvalidArgument, match="input z: .* is not bound"):
            add({"x": ONES})
        with pytest.raises(lanner.InvalidArgument, match="input x: .* is not bound"):
            add({})
        np.testing.assert_array_equal(add({"x": ONES, "z": ONES})["y"], ONES * 2)

    def test_arrays_are_released_after_a_call(self, of, relu):
        call, array = of(relu), ONES.copy()
        held = weakref.ref(array)
        call({"x": array})
        with pytest.raises(lanner.InvalidArgument):
            call({"x": array, "q": array})
        del array
        gc.collect()
        assert held() is None

    def test_the_dict_may_change_while_its_arrays_are_converted(self, of, relu):
        inputs = {}
        inputs["x"] = Array(ONES, inputs.clear)
        np.testing.assert_array_equal(of(relu)(inputs)["y"], ONES)

    def test_unknown_names_are_rejected(self, of, relu):
        for name in (0, b"x", None, "\udcff"):
            with pytest.raises(lanner.InvalidArgument, match="no input is called .*; there is x"):
                of(relu)({name: ONES})

    def test_arrays_that_kernels_cannot_read_in_place_are_copied(self, of, relu):
        bytes_ = np.zeros(13, np.uint8)
        bytes_[1:] = ONES.view(np.uint8)
        for array in (bytes_[1:].view(np.float32), ONES.astype(">f4"), np.ones(6, np.float32)[::2]):
            np.testing.assert_array_equal(of(relu)({"x": array})["y"], ONES)


class TestOutputs:
    def test_results_are_written_to_the_array_given_and_to_no_later_one(self, relu):
        context, own = relu.create_context(), np.zeros(3, np.float32)
        context({"x": ONES}, outputs={"y": own})
        np.testing.assert_array_equal(own, ONES)
        np.testing.assert_array_equal(context({"x": ONES * 5})["y"], ONES * 5)
        np.testing.assert_array_equal(own, ONES)

    def test_outputs_must_be_writable_contiguous_memory(self, relu):
        frozen, unaligned = np.zeros(3, np.float32), np.zeros(13, np.uint8)[1:].view(np.float32)
        frozen.flags.writeable = False
        refused = {
            "read-only": [frozen, Array(frozen), lanner.Tensor(frozen), lanner.Tensor(Array(frozen))],
            "contiguous": [np.zeros(6, np.float32)[::2], np.zeros(3, ">f4"), unaligned, np.array(["a"] * 3)],
            "arrays and tensors": [[0.0, 0.0, 0.0], None, 3, "y"],
        }
        context = relu.create_context()
        for message, arrays in refused.items():
            for array in arrays:
                with pytest.raises(lanner.InvalidArgument, match=f"output y: .*{message}"):
                    context({"x": ONES}, outputs={"y": array})
        assert not frozen.any()
        np.testing.assert_array_equal(context({"x": ONES})["y"], ONES)

    def test_type_and_shape_must_fit(self, relu):
        context = relu.create_context()
        for array, given in ((np.zeros(3), r"f64\[3\]"), (np.zeros((1, 3), np.float32), r"f32\[1, 3\]")):
            with pytest.raises(lanner.InvalidArgument, match=rf"memory for {given} was bound, the run gives f32\[3\]"):
                context({"x": ONES}, outputs={"y": array})
        with pytest.raises(lanner.InvalidArgument, match="no output is called 'q'; there is y"):
            context({"x": ONES}, outputs={"q": ONES.copy()})

    def test_results_of_data_dependent_size_are_written(self):
        context, own = build("NonZero", result=INT64).create_context(), np.full((1, 2), -9)
        context({"x": np.float32([0, 1, 1])}, outputs={"y": own})
        np.testing.assert_array_equal(own, [[1, 2]])
        with pytest.raises(lanner.InvalidArgument, match=r"memory for i64\[1, 2\] was bound, the run gives i64\[1, 3\]"):
            context({"x": ONES}, outputs={"y": own})
        np.testing.assert_array_equal(own, [[1, 2]])

    def test_read_only_memory_stays_read_only_through_the_tensor(self):
        frozen = np.zeros(3, np.float32)
        frozen.flags.writeable = False
        for tensor in (lanner.Tensor(frozen), lanner.Tensor(Array(frozen))):
            assert not tensor.numpy().flags.writeable
            assert not np.from_dlpack(tensor).flags.writeable
        for array in (np.zeros(3), Array(np.zeros(3))):
            assert lanner.Tensor(array).numpy().flags.writeable


class TestOneCallAtATime:
    def test_a_call_from_a_second_thread_is_rejected(self, relu):
        context, inside, leave = relu.create_context(), threading.Event(), threading.Event()

        def stay():
            inside.set()
            leave.wait(60)

        results = []
        other = threading.Thread(target=lambda: results.append(context({"x": Array(ONES, stay)})["y"].numpy()))
        other.start()
        assert inside.wait(60)
        for call in (lambda: context({"x": ONES}), lambda: context.enqueue({"x": ONES}, 0), context.profile):
            with pytest.raises(lanner.InvalidArgument, match="busy"):
                call()
        leave.set()
        other.join()
        np.testing.assert_array_equal(results, [ONES])
        context({"x": ONES})

    def test_a_recursive_call_from_an_input_is_rejected(self, relu):
        context = relu.create_context()
        with pytest.raises(lanner.InvalidArgument, match="busy"):
            context({"x": Array(ONES, lambda: context({"x": ONES}))})


class TestStrings:
    def test_non_utf8_bytes_come_back_with_surrogate_escapes(self):
        same = build("Identity", dtype=STRING, result=STRING)
        for given in (np.array([b"\xff", "é"], object), np.array(["\udcff", "é"], object)):
            assert same({"x": given})["y"].numpy().tolist() == ["\udcff", "é"]

    def test_non_text_elements_are_rejected(self):
        same = build("Identity", dtype=STRING, result=STRING)
        for wrong in (None, 1.5, [1]):
            given = np.empty(1, object)
            given[0] = wrong
            with pytest.raises(lanner.InvalidArgument, match="input x: .*expected str and bytes"):
                same({"x": given})


def test_names_in_models_may_be_non_utf8():
    bytes_ = network("Relu").SerializeToString().replace(b"\x01x", b"\x01\xff")
    relu = lanner.build(bytes_, budget=0, threads=1, shapes={"\udcff": (3,)})
    (binding,) = relu.inputs
    assert (binding.name, binding.shape) == ("\udcff", (3,))
    assert repr(binding) == "\udcff: f32[3]"
    assert "\udcff" in relu.ir() and relu.explain()["inputs"] == ["\ufffd: f32[3]"]
    np.testing.assert_array_equal(relu({"\udcff": ONES})["y"], ONES)


class TestSequences:
    @staticmethod
    def same():
        sequence = helper.make_tensor_sequence_value_info
        node = helper.make_node("Identity", ["s"], ["y"])
        graph = helper.make_graph([node], "g", [sequence("s", FLOAT, None)], [sequence("y", FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return lanner.build(model, budget=0, threads=1)

    def test_results_share_no_memory_with_the_input(self):
        given = ONES.copy()
        (result,) = self.same()({"s": [given]})["y"]
        given[:] = 7
        np.testing.assert_array_equal(result, ONES)

    def test_a_list_that_contains_itself_is_rejected(self):
        endless = []
        endless.append(endless)
        with pytest.raises(RecursionError):
            self.same()({"s": endless})


class TestPictures:
    PICTURE = np.full((8, 8, 3), 200, np.uint8)

    def test_are_accepted_in_lists_and_tuples(self):
        spec = lanner.Preprocess(size=(8, 8))
        relu = build("Relu", shape=("n", 3, 8, 8), preprocess={"x": spec})
        picture = lanner.Image(self.PICTURE)
        for several in ([picture] * 2, (picture,) * 2):
            np.testing.assert_array_equal(relu({"x": several})["y"], np.full((2, 3, 8, 8), 200))
        with pytest.raises(lanner.InvalidArgument, match="input x: expected images only, got 3"):
            relu({"x": (picture, 3)})

    def test_an_input_of_rank_2_takes_each_picture_as_a_row(self):
        relu = build("Relu", shape=("n", 192), preprocess={"x": lanner.Preprocess(size=(8, 8))})
        np.testing.assert_array_equal(relu({"x": [lanner.Image(self.PICTURE)] * 2})["y"], np.full((2, 192), 200))
        with pytest.raises(lanner.InvalidArgument, match=r"it gives f32\[\?, 3, 9, 8\], the model expects f32\[n, 192\]"):
            build("Relu", shape=("n", 192), preprocess={"x": lanner.Preprocess(size=(9, 8))})

    @pytest.mark.parametrize(
        "wrong", [{"size": (9, 8)}, {"size": (8, 8), "layout": "nhwc"}, {"size": (8, 8), "dtype": "float16"}]
    )
    def test_preprocessing_that_does_not_fit_is_rejected_by_the_build(self, wrong):
        with pytest.raises(lanner.InvalidArgument, match="preprocess for x: it gives .*, the model expects .*8, 8"):
            build("Relu", shape=("n", 3, 8, 8), preprocess={"x": lanner.Preprocess(**wrong)})

    def test_preprocessing_with_open_sizes_is_accepted(self):
        for shape in (("n", 3, "h", "w"), ("n", 3, "h", 8)):
            build("Relu", shape=shape, preprocess={"x": lanner.Preprocess(size=(9, 8))})
        build("Relu", shape=("n", 3, 8, 8), preprocess={"x": lanner.Preprocess()})

    def test_preprocessing_of_an_unknown_input_is_rejected(self):
        with pytest.raises(lanner.InvalidArgument, match="preprocess: the model has no input 'q'; there is x"):
            build("Relu", preprocess={"q": lanner.Preprocess()})


@pytest.mark.parametrize(
    "options, error",
    [
        ({"threads": -1}, "threads is -1"),
        ({"budget": -1}, "budget is -1"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"budget": float("inf")}, "budget is inf"),
        ({"precision": ""}, "precision ''"),
        ({"precision": "fp16,"}, "precision ''"),
    ],
)
def test_invalid_options_are_rejected(options, error):
    with pytest.raises(lanner.InvalidArgument, match=error):
        lanner.build(network("Relu"), **{"budget": 0, **options})


def test_threads_of_plans_and_contexts_are_checked_too(relu, tmp_path):
    relu.save(tmp_path / "relu.plan")
    for call in (lambda: lanner.load(tmp_path / "relu.plan", threads=-1), lambda: relu.create_context(threads=-1)):
        with pytest.raises(lanner.InvalidArgument, match="threads is -1"):
            call()


@pytest.mark.parametrize(
    "options, error",
    [
        ({"shapes": {"x": "3"}}, "shapes of x: '3'"),
        ({"shapes": {"x": (1.5,)}}, r"shapes of x: \(1.5,\)"),
        ({"shapes": {0: (3,)}}, "shapes: 0"),
        ({"preprocess": {"x": {}}}, "preprocess of x: {}"),
    ],
)
def test_options_of_the_wrong_type_are_named(options, error):
    with pytest.raises(TypeError, match=error):
        lanner.build(network("Relu"), budget=0, **options)


def test_paths_may_have_any_bytes(relu, tmp_path):
    for name in ("a\udcff.plan", b"b\xff.plan"):
        path = (tmp_path / name) if isinstance(name, str) else bytes(tmp_path) + b"/" + name
        relu.save(path)
        loaded = lanner.load(path if isinstance(name, str) else path.decode(errors="surrogateescape"))
        np.testing.assert_array_equal(loaded({"x": ONES})["y"], ONES)
    with pytest.raises(lanner.NotFound, match=r"absent\\xff"):
        lanner.load(tmp_path / "absent\udcff")
    with pytest.raises(lanner.InvalidArgument, match="zero byte"):
        relu.save(str(tmp_path / "c\0d"))


@pytest.mark.parametrize("call", ["engine", "context", "enqueue"])
def test_ctrl_c_ends_a_run(call):
    flag, on = (helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("go", "on"))
    turn = helper.make_tensor_value_info("turn", TensorProto.INT64, [])
    state, after = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("state", "after"))
    nodes = [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Neg", ["state"], ["after"])]
    body = helper.make_graph(nodes, "body", [turn, flag, state], [on, after])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["", "", "x"], ["y"], body=body)],
        "endless",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )
    engine = lanner.build(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), budget=0)
    context = engine.create_context()
    run = {"engine": engine, "context": context, "enqueue": lambda inputs: context.enqueue(inputs, 0)}[call]
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run({"x": np.ones(4, np.float32)})
    timer.join()


def test_a_build_accepts_a_precision_policy():
    def policy(**options):
        engine = lanner.build(network("Relu"), shapes={"x": (4,)}, budget=0, device="cpu", **options)
        return engine.explain()

    assert policy()["target"]["precision"] == {"types": "fp32", "pins": [], "strict": False, "exact": False}
    found = policy(precision={"fp32"}, pins={"*": "fp32"}, strict=True, exact=True)
    assert found["target"]["precision"] == {"types": "fp32", "pins": [{"pattern": "*", "type": "fp32"}], "strict": True, "exact": True}
    assert found["notes"] == []
    with pytest.warns(RuntimeWarning, match=r"pin '\*=fp16' is not kept by 1 of its kernels"):
        assert "pin '*=fp16'" in policy(pins={"*": "fp16"})["notes"][0]
    with pytest.raises(lanner.Unsupported, match="precision fp16 .strict.: 1 nodes have no kernel in it on cpu, .* the first; pin"):
        policy(precision=["fp16"], strict=True)
    with pytest.raises(lanner.InvalidArgument, match="pin 'q=fp32': no node of the model"):
        policy(pins={"q": "fp32"})
    with pytest.raises(lanner.InvalidArgument, match="precision 'fp8'"):
        policy(pins={"*": "fp8"})
    with pytest.raises(lanner.InvalidArgument, match="precision ''"):
        policy(precision=[])


def test_a_plan_keeps_its_precision_policy(tmp_path):
    engine = lanner.build(network("Relu"), budget=0, device="cpu", pins={"*": "fp32"}, exact=True)
    engine.save(tmp_path / "relu.plan")
    assert lanner.load(tmp_path / "relu.plan").explain()["target"]["precision"] == engine.explain()["target"]["precision"]
