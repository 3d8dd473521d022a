"""Arguments of wrong types: one line with the argument, what was expected and what was given."""

import re

import numpy as np
import pytest
from onnx import TensorProto, helper

lanner = pytest.importorskip("lanner")

ONES = np.ones((2, 3), np.float32)


def network():
    value = helper.make_tensor_value_info
    node = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([node], "small", [value("x", TensorProto.FLOAT, ("n", 3))], [value("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def relu():
    return lanner.build(network(), budget=0, threads=1, device="cpu")


def refused(call):
    """The line of the TypeError."""
    with pytest.raises(TypeError) as told:
        call()
    line = str(told.value)
    assert "\n" not in line and "incompatible function arguments" not in line, line
    return line


def calls(engine):
    context = engine.create_context()
    return [engine, context, lambda inputs, **options: context.enqueue(inputs, 0, **options)]


@pytest.mark.parametrize("number", range(3))
class TestInputs:
    def test_an_array_is_not_the_dict_of_inputs(self, relu, number):
        line = refused(lambda: calls(relu)[number](ONES))
        assert line == (
            "inputs: array([[1., 1., 1.], [1., 1., 1.]], dtype=float32) is of the wrong type; "
            'expected a dict from input name to value, like {"x": array}'
        )

    @pytest.mark.parametrize("wrong", [None, [ONES], "x", lanner.Tensor(ONES)])
    def test_other_types_are_not_the_dict_of_inputs(self, relu, number, wrong):
        assert refused(lambda: calls(relu)[number](wrong)).startswith("inputs: ")

    def test_inputs_have_no_keywords(self, relu, number):
        line = refused(lambda: calls(relu)[number]({"x": ONES}, x=ONES))
        assert line == "unknown option 'x'; inputs come in one dict, like {\"x\": array}"

    def test_any_mapping_is_accepted(self, relu, number):
        class Values:
            def keys(self):
                return ["x"]

            def __getitem__(self, name):
                return ONES

        np.testing.assert_array_equal(calls(relu)[number](Values())["y"], ONES)


def test_inputs_may_not_be_left_out(relu):
    assert refused(lambda: relu()).startswith("inputs: None is of the wrong type; expected a dict")
    assert refused(lambda: relu(x=ONES)) == "unknown option 'x'; inputs come in one dict, like {\"x\": array}"


def test_names_of_any_bytes_are_shown():
    named = lanner.build(network().SerializeToString().replace(b"\x01x", b"\x01\xff"), budget=0, threads=1, device="cpu")
    assert refused(lambda: named(ONES)).endswith(r'like {"\xff": array}')
    assert r"shapes of \xff: 3" in refused(lambda: named.prepare({"\udcff": 3}))


def test_wrong_outputs_and_streams_are_named(relu):
    context = relu.create_context()
    assert 'expected a dict from output name to memory, like {"y": array}' in refused(
        lambda: context({"x": ONES}, outputs=np.zeros((2, 3), np.float32))
    )
    for call in (relu, context, context.enqueue):
        assert refused(lambda: call({"x": ONES}, stream="0")).startswith("stream: '0' is of the wrong type")
    assert refused(lambda: context.enqueue({"x": ONES})).startswith("stream: None")


@pytest.mark.parametrize(
    "options, line",
    [
        ({"shapes": (1, 3)}, r'shapes: (1, 3) is of the wrong type; expected a dict like {"x": (1, 3, 224, 224)}'),
        ({"shapes": {"x": 3}}, "shapes of x: 3 is of the wrong type; expected sizes like (1, 3, 224, 224), or three of these: min, opt, max"),
        ({"shapes": {"x": ((1, 3), (2, 3))}}, "shapes of x: ((1, 3), (2, 3)) is of the wrong type or size; expected sizes"),
        ({"profiles": {"x": (1, 3)}}, "profiles: {'x': (1, 3)} is of the wrong type or size; expected a list of dicts like"),
        ({"profiles": [(1, 3)]}, "profiles: [(1, 3)] is of the wrong type or size; expected a list of dicts like"),
        ({"profiles": [{"x": "1,3"}]}, "profiles of x: '1,3' is of the wrong type or size; expected sizes"),
        ({"threads": "2"}, "threads: '2' is of the wrong type or size; expected int"),
        ({"budget": "2"}, "budget: '2' is of the wrong type or size; expected float"),
        ({"device": 0}, "device: 0 is of the wrong type; expected a name like cuda:0, or several"),
        ({"precision": 16}, "precision: 16 is of the wrong type; expected names like fp16,fp32"),
        ({"pins": "fp32"}, 'pins: \'fp32\' is of the wrong type; expected a dict like {"/head/*": "fp32"}'),
        ({"pins": {"a": 32}}, "pins of a: 32 is of the wrong type or size; expected a name"),
        ({"placement": ["x"]}, "placement: ['x'] is of the wrong type; expected a dict like"),
        ({"preprocess": lanner.Preprocess(size=(1, 3))}, r"is of the wrong type; expected a dict like {\"x\": Preprocess()}"),
        ({"preprocess": {"x": "imagenet"}}, "preprocess of x: 'imagenet' is of the wrong type or size; expected a Preprocess"),
        ({"images": ["x"]}, "images: ['x'] is of the wrong type; expected a dict like"),
        ({"states": ["x", "y"]}, "states: ['x', 'y'] is of the wrong type; expected a dict like"),
        ({"overridden": "w"}, "overridden: 'w' is of the wrong type"),
        ({"overwritable": 1}, "overwritable: 1 is of the wrong type; expected a list of names"),
        ({"overwritable": "x"}, "overwritable: 'x' is of the wrong type"),
        ({"storages": "acdb"}, "storages: 'acdb' is of the wrong type; expected a dict like"),
        ({"weight_budget": "4GiB"}, "weight_budget: '4GiB' is of the wrong type or size; expected int"),
        ({"environment": 3}, "environment: 3 is of the wrong type or size; expected Environment"),
        ({"progress": 3}, "progress: 3 is of the wrong type"),
        ({"strict": "yes"}, "strict: 'yes' is of the wrong type or size; expected bool"),
        ({"budgets": 2}, "unknown option 'budgets'; did you mean budget?"),
    ],
)
def test_options_of_a_build(options, line):
    assert line.replace('\\"', '"') in refused(lambda: lanner.build(network(), **{"budget": 0, **options}))


def test_options_have_names(relu, tmp_path):
    assert "build: 'fp16' has no name" in refused(lambda: lanner.build(network(), "fp16"))
    relu.save(tmp_path / "plan")
    assert "load: 2 has no name" in refused(lambda: lanner.load(tmp_path / "plan", 2))


def test_keywords_of_pictures_and_videos_have_names():
    picture = lanner.Image(np.zeros((4, 4, 3), np.uint8))
    assert "Preprocess: 'imagenet' has no name" in refused(lambda: lanner.Preprocess("imagenet"))
    assert "to_tensor: (2, 2) has no name" in refused(lambda: picture.to_tensor((2, 2)))
    for reader in (lanner.VideoReader, lanner.ParallelDecoder):
        assert "'cpu' has no name; expected options by their names" in refused(lambda: reader("clip.mp4", "cpu"))


def test_none_as_a_model_is_rejected():
    for call in (lanner.build, lanner.load):
        with pytest.raises(lanner.InvalidArgument, match="expected a path, bytes or a binary file object, got .*NoneType"):
            call(None)


@pytest.mark.parametrize(
    "options, line",
    [
        ({"threads": "2"}, "threads: '2' is of the wrong type or size; expected int"),
        ({"device": 0}, "device: 0 is of the wrong type or size; expected str"),
        ({"limits": "4GiB"}, "limits: '4GiB' is of the wrong type; expected a dict like"),
        ({"budget": 1}, "unknown option 'budget'; known are threads, device"),
    ],
)
def test_options_of_a_load(relu, tmp_path, options, line):
    relu.save(tmp_path / "plan")
    assert line in refused(lambda: lanner.load(tmp_path / "plan", **options))


def test_methods_of_engines(relu):
    assert "threads: '2' is of the wrong type or size; expected int" in refused(lambda: relu.create_context("2"))
    assert "profile: 'all' is of the wrong type or size; expected bool" in refused(lambda: relu.create_context(profile="all"))
    assert "weights: [1] is of the wrong type; expected a dict like" in refused(lambda: relu.refit([1]))
    assert "weights: {'w'} is of the wrong type" in refused(lambda: relu.refit({"w"}))
    assert "shapes: (1, 3) is of the wrong type or size; expected a dict like" in refused(lambda: relu.prepare((1, 3)))
    assert "shapes of x: 3 is of the wrong type; expected sizes" in refused(lambda: relu.prepare({"x": 3}))
    assert "threads: '2' is of the wrong type or size; expected int" in refused(lambda: relu.prepare({"x": (1, 3)}, threads="2"))
    assert "shapes: (1, 3) is of the wrong type; expected a dict like" in refused(lambda: relu.verify((1, 3)))
    assert "shapes of x: 3 is of the wrong type; expected sizes" in refused(lambda: relu.verify({"x": 3}))
    assert "inputs: array" in refused(lambda: relu.verify(inputs=ONES))
    with pytest.raises(TypeError, match=r"^weight_budget: '4GiB' is of the wrong type or size; expected bytes or None$"):
        relu.weight_budget = "4GiB"


def test_pictures_and_environments(tmp_path):
    pixels = np.zeros((4, 4, 3), np.uint8)
    line = refused(lambda: lanner.save_image(tmp_path / "a.png", pixels))
    assert re.match(r"image: array\(.* is of the wrong type or size; expected Image; Image\(array\) makes one of pixels$", line)
    assert refused(lambda: lanner.Environment(threads="2")).startswith("threads: '2' is of the wrong type")
    assert "backends: 'cpu' is of the wrong type or size; expected a list of names" in refused(lambda: lanner.Environment(backends="cpu"))
    assert refused(lambda: lanner.set_threads("2")).startswith("count: '2' is of the wrong type")
