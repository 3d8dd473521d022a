"""Cases of models with nodes that only TensorFlow runs, and of control flow: what lanner.tf converts and saves answers as the model did."""

import inside_support as support
import numpy as np
import tensorflow as tf
from inside_support import close, numbers, raises, signature, v1

import lanner


class Gamma(tf.Module):
    """Layers around an operator without a rule."""

    def __init__(self):
        super().__init__()
        self.before, self.behind = tf.Variable(numbers(4, 4)), tf.Variable(numbers(4, 4))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        gamma = tf.math.lgamma(tf.nn.relu(x @ self.before) + 1.5)
        return {"y": tf.nn.softmax(tf.nn.relu(gamma @ self.behind) * 2 - 1)}


class Recommender(tf.Module):
    """Tables from constants and from a file, text, embeddings, two layers."""

    def __init__(self, folder):
        super().__init__()
        (folder / "colours.txt").write_text("red\ngreen\nblue\n")
        entries = tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b", "c"]), tf.constant([0, 1, 2], tf.int64))
        lines = tf.lookup.TextFileInitializer(
            str(folder / "colours.txt"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.users, self.colours = tf.lookup.StaticHashTable(entries, 3), tf.lookup.StaticVocabularyTable(lines, 1)
        self.of_users, self.of_colours = tf.Variable(numbers(4, 8)), tf.Variable(numbers(4, 8))
        self.first, self.bias, self.last = tf.Variable(numbers(16, 5)), tf.Variable(numbers(5)), tf.Variable(numbers(5, 3))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "user"), tf.TensorSpec([None], tf.string, "colour")])
    def serve(self, user, colour):
        rows = tf.gather(self.of_users, self.users.lookup(user)), tf.gather(self.of_colours, self.colours.lookup(colour))
        hidden = tf.nn.relu(tf.concat(rows, 1) @ self.first + self.bias)
        return {"scores": tf.nn.softmax(hidden @ self.last), "shown": tf.strings.upper(user)}


class Counter(tf.Module):
    """A variable that each run changes, beside constant ones."""

    def __init__(self):
        super().__init__()
        self.sum, self.weights = tf.Variable(0.0, name="sum"), tf.Variable(numbers(4, 4))

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        self.sum.assign_add(tf.reduce_sum(x))
        return {"y": tf.nn.relu(x @ self.weights) * 3 + 1 + self.sum}


class Branches(tf.Module):
    """A conditional and a loop that change variables, and whose results nothing reads."""

    def __init__(self):
        super().__init__()
        self.sum, self.steps = tf.Variable(0.0, name="sum"), tf.Variable(0.0, name="steps")

    def change(self, x):
        def add():
            self.sum.assign_add(tf.reduce_sum(x))
            return tf.constant(1.0)

        def step(i):
            self.steps.assign_add(1.0)
            return (i + 1,)

        tf.cond(tf.reduce_sum(x) > 0, add, lambda: tf.constant(0.0))
        tf.while_loop(lambda i: i < tf.shape(x)[0], step, [0])

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        self.change(x)
        return {"y": tf.nn.relu(x) * 3 + 1 + self.sum + self.steps}


class LateBranches(Branches):
    """The same where a run shows what earlier ones changed."""

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def serve(self, x):
        before = self.sum + self.steps
        self.change(x)
        return {"y": tf.nn.relu(x) * 3 + 1 + before}


class Loops(tf.Module):
    """A loop and a conditional whose functions read a variable."""

    def __init__(self, step):
        super().__init__()
        self.step, self.inside, self.outside = step, tf.Variable(numbers(4, 4)), tf.Variable(numbers(4, 4))

    @tf.function(input_signature=[tf.TensorSpec([2, 4], tf.float32, "x"), tf.TensorSpec([], tf.int32, "n")])
    def serve(self, x, n):
        y = tf.nn.relu(x @ self.outside) + 0.5
        _, y = tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, self.step(v @ self.inside)), [0, y])
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: self.step(y @ self.inside), lambda: y - 1.0)
        return {"y": tf.nn.softmax(tf.nn.relu(y @ self.outside) * 2 - 1)}


class Detector(tf.Module):
    """Boxes and scores of a picture's cells, and their suppression."""

    def __init__(self):
        super().__init__()
        self.filter = tf.Variable(numbers(3, 3, 3, 8) / 4)
        self.boxes, self.scores = tf.Variable(numbers(8, 4) / 4), tf.Variable(numbers(8, 3) / 4)

    @tf.function(input_signature=[tf.TensorSpec([None, 16, 16, 3], tf.float32, "picture")])
    def serve(self, picture):
        cells = tf.reshape(tf.nn.relu(tf.nn.conv2d(picture, self.filter, 2, "SAME")), [-1, 64, 8])
        corner = tf.sigmoid(cells @ self.boxes)
        boxes = tf.concat([corner[..., :2], corner[..., :2] + corner[..., 2:]], -1)[:, :, None]
        kept = tf.image.combined_non_max_suppression(boxes, tf.sigmoid(cells @ self.scores), 5, 10, 0.5, 0.3)
        return {"boxes": kept.nmsed_boxes, "scores": kept.nmsed_scores, "classes": kept.nmsed_classes, "count": kept.valid_detections}


class Translator(tf.Module):
    """A recurrent cell that chooses token after token until an end token, in a loop of unknown length."""

    def __init__(self):
        super().__init__()
        self.embedding, self.cell, self.tokens = tf.Variable(numbers(12, 8)), tf.Variable(numbers(16, 8)), tf.Variable(numbers(8, 12))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "tokens")])
    def serve(self, tokens):
        state = tf.tanh(tf.reduce_mean(tf.gather(self.embedding, tokens), 0, keepdims=True))

        def step(i, token, state, text):
            state = tf.tanh(tf.concat([tf.gather(self.embedding, token), state], 1) @ self.cell)
            token = tf.argmax(state @ self.tokens, 1, tf.int32)
            return i + 1, token, state, tf.concat([text, token], 0)

        shapes = [tf.TensorShape([]), tf.TensorShape([1]), tf.TensorShape([1, 8]), tf.TensorShape([None])]
        start = [0, tf.constant([1]), state, tf.zeros([0], tf.int32)]
        *_, text = tf.while_loop(lambda i, token, *_: (i < 9) & (token[0] != 0), step, start, shapes)
        return {"text": text, "length": tf.size(text)}


class Policy(tf.Module):
    """A policy and a value of an observation; the action is the best one, or one drawn by chance."""

    def __init__(self):
        super().__init__()
        self.hidden, self.policy, self.value = tf.Variable(numbers(6, 16)), tf.Variable(numbers(16, 4)), tf.Variable(numbers(16, 1))

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float32, "observation"), tf.TensorSpec([2], tf.int32, "seed")])
    def serve(self, observation, seed):
        hidden = tf.tanh(observation @ self.hidden)
        logits = hidden @ self.policy
        drawn = tf.random.stateless_categorical(logits, 1, seed)
        return {"best": tf.argmax(logits, 1), "drawn": drawn, "log": tf.nn.log_softmax(logits), "value": tf.squeeze(hidden @ self.value, 1)}


def same(got, expected):
    assert set(got) == set(expected)
    for name, value in expected.items():
        if value.dtype == object or value.dtype.kind in "iub":
            assert got[name].tolist() == value.tolist(), name
        else:
            close(got[name], value)


def answers(module, folder, *runs, **options):
    """Saves a module, converts and saves it, and compares both inside TensorFlow. Gives the converted model."""
    tf.saved_model.save(module, folder / "original", signatures=module.serve)
    return compared(folder, *runs, **options)


def compared(folder, *runs, **options):
    converted = support.converted(folder / "original", folder / "converted", **options)
    original, made = (tf.saved_model.load(str(folder / name)).signatures["serving_default"] for name in ("original", "converted"))
    for run in runs:
        tensors = {name: tf.constant(value) for name, value in run.items()}
        same(*({name: value.numpy() for name, value in function(**tensors).items()} for function in (made, original)))
    engines = [entry for entry in lanner.tf.engine_statistics() if entry["id"] not in support.EARLIER]
    assert engines and not any(entry["native_runs"] for entry in engines), engines
    return converted


def natives(model, code="not_converted"):
    return {node["op"] for node in model.nodes if node["engine"] is None and node["code"] == code}


def refused(folder, *parts):
    error = raises(lambda: lanner.tf.load(folder / "converted"), "nodes that nothing here can run without TensorFlow", *parts)
    assert "\n" not in str(error)


def case_a_node_without_a_rule_stays_tensorflows(folder):
    model = answers(Gamma(), folder, {"x": numbers(3, 4)}, {"x": numbers(5, 4)})
    assert natives(model) == {"Lgamma"} and "Lgamma" in model.needs_tensorflow
    assert len([part for part in model.parts if part["engine"]]) == 2
    assert "1 different types" in model.native_line() and "Lgamma|" in model.native_csv(), (model.native_line(), model.native_csv())
    refused(folder, "Lgamma", "special function")
    raises(lambda: model({"x": numbers(3, 4)}), "runs inside TensorFlow alone", "Lgamma")
    raises(lambda: lanner.tf.convert(folder / "original", stand_alone=True), "Lgamma")


def case_tables_and_text_stay_tensorflows(folder):
    model = answers(Recommender(folder), folder, {"user": ["a", "z", "c"], "colour": ["blue", "red", "pink"]}, {"user": ["b"], "colour": ["green"]})
    assert {"HashTableV2", "LookupTableFindV2", "StringUpper"} <= natives(model)
    assert any(node["op"] == "MatMul" and node["engine"] for node in model.nodes)
    assert (folder / "converted" / "assets" / "colours.txt").read_text() == "red\ngreen\nblue\n"
    refused(folder, "HashTableV2", "LookupTableFindV2")


def case_a_variable_that_runs_change_stays_one(folder):
    model = answers(Counter(), folder, {"x": numbers(3, 4)}, {"x": numbers(2, 4)})
    assert "AssignAddVariableOp" in natives(model)
    refused(folder, "AssignAddVariableOp")


def case_control_flow_that_changes_variables_runs_in_order(folder):
    runs = [{"x": np.full([rows, 4], value, np.float32)} for rows, value in ((3, 1), (2, -1), (4, 2))]
    for module in (Branches, LateBranches):
        model = answers(module(), folder / module.__name__, *runs)
        assert natives(model) >= {"If", "While", "ReadVariableOp"}, natives(model)


def case_two_models_of_equal_names_in_one_process(folder):
    cases = [(Counter, {"x": numbers(3, 4)}), (lambda: Loops(tf.tanh), {"x": numbers(2, 4), "n": np.int32(3)})]
    for number, (make, run) in enumerate(cases):
        places = [folder / f"{number}_{i}" for i in range(2)]
        for place in places:
            module = make()  # its weights are drawn anew
            tf.saved_model.save(module, place / "original", signatures=module.serve)
            support.converted(place / "original", place / "converted")
        loaded = [[tf.saved_model.load(str(place / name)) for name in ("converted", "original")] for place in places]
        for pair in loaded + loaded:
            got, expected = (model.signatures["serving_default"](**{k: tf.constant(v) for k, v in run.items()}) for model in pair)
            same({k: v.numpy() for k, v in got.items()}, {k: v.numpy() for k, v in expected.items()})


def counted(first, second, x):
    """Answers of two loads of one model: twice by the first, then by the second, then by the first again."""
    return [next(iter(model(x).values())) for model in (first, first, second, first)]


def in_session(folder, session=None, scope=""):
    """The model by TensorFlow 1, in a session of its own or in this one under a scope."""
    session = session or v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        loaded = v1.saved_model.load(session, ["serve"], str(folder), import_scope=scope).signature_def["serving_default"]

    def named(info):
        return info.name if not scope or info.name.startswith(f"{scope}/") else f"{scope}/{info.name}"

    (given,), outputs = map(named, loaded.inputs.values()), {name: named(info) for name, info in loaded.outputs.items()}
    return lambda x: session.run(outputs, {given: x})


def pairs_of_loads(folder):
    yield "loaded", signature(folder), signature(folder)
    yield "in sessions", in_session(folder), in_session(folder)
    session = v1.Session(graph=tf.Graph())
    yield "in one session", in_session(folder, session, "first"), in_session(folder, session, "second")


def early_counter(folder, resource):
    """A model of TensorFlow 1 that counts in a variable, by handle or by reference, and gives it after it was written and, where
    that is defined, before: what is read by reference is the variable's memory, in which TensorFlow may find later values."""
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        total = v1.get_variable("sum", [], initializer=v1.zeros_initializer(), use_resource=resource)
        weights = v1.get_variable("w", [4, 4], initializer=v1.random_normal_initializer(seed=1), use_resource=resource)
        before = tf.identity(total.read_value())
        with tf.control_dependencies([before]):
            added = v1.assign_add(total, tf.reduce_sum(tf.abs(x)))
        with tf.control_dependencies([added]):
            after = tf.identity(total.read_value())
        y = tf.nn.relu(tf.matmul(x, weights)) * 3 + 1 + after + (before * 100 if resource else 0)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder), {"x": x}, {"y": y})


def case_each_load_of_a_model_has_the_variables_that_tensorflow_gives_it(folder):
    x = numbers(3, 4)
    for module in (Counter(), LateBranches()):
        tf.saved_model.save(module, folder / type(module).__name__ / "original", signatures=module.serve)
    for name, resource in (("by_handle", True), ("by_reference", False)):
        early_counter(folder / name / "original", resource)
    for place in sorted(folder.iterdir()):
        support.converted(place / "original", place / "converted")
        loads = zip(pairs_of_loads(place / "converted"), pairs_of_loads(place / "original"), strict=True)
        for (way, *converted), (_, *original) in loads:
            expected = counted(*original, x)
            for number, (got, answer) in enumerate(zip(counted(*converted, x), expected, strict=True)):
                assert np.allclose(got, answer, rtol=1e-4, atol=1e-4), (place.name, way, number, got, answer)
            assert np.abs(expected[1] - expected[0]).max() > 1e-3, (place.name, way)
            if way != "in one session":  # where TensorFlow shares variables that have handles
                close(expected[2], expected[0])


def case_reads_of_a_variable_by_reference_give_what_it_was(folder):
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        total = v1.get_variable("sum", [4], initializer=v1.ones_initializer(), use_resource=False)
        before = tf.identity(total.read_value())
        with tf.control_dependencies([before]):
            added = v1.assign_add(total, tf.reduce_sum(tf.abs(x), 0))
            scattered = v1.scatter_add(total, [0], tf.constant([7.0]) + added[:1] * 0)
        with tf.control_dependencies([scattered]):
            y = tf.nn.relu(x * before) * 3 + 1
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "original"), {"x": x}, {"y": y, "after": total.read_value() * 2 + 0})
    model = support.converted(folder / "original", folder / "converted")
    assert natives(model) >= {"VariableV2", "AssignAdd", "ScatterAdd"}, natives(model)
    x = np.abs(numbers(3, 4))
    for load in (signature, in_session):
        run, total = load(folder / "converted"), np.ones(4, np.float32)
        for _ in range(3):
            close(run(x)["y"], x * total * 3 + 1)
            total += x.sum(0) + np.float32([7, 0, 0, 0])


def case_control_flow_with_an_operator_without_a_rule(folder):
    module = Loops(lambda v: tf.math.lgamma(tf.abs(v) + 1.0))
    model = answers(module, folder, *({"x": numbers(2, 4), "n": np.int32(n)} for n in (3, 0)))
    assert natives(model) >= {"If"} and any(part["engine"] for part in model.parts)
    refused(folder, "Lgamma")


def runs_here_too(folder, *runs):
    """A converted model without TensorFlow's nodes, loaded, and saved again."""
    loaded = lanner.tf.load(folder / "converted", budget=0)
    loaded.save(folder / "again")
    original, again = signature(folder / "original"), signature(folder / "again")
    for run in runs:
        expected = {name: value.numpy() for name, value in original.loaded.signatures["serving_default"](**{k: tf.constant(v) for k, v in run.items()}).items()}
        same({name: np.asarray(value) for name, value in loaded(run).items()}, expected)
        same({name: value.numpy() for name, value in again.loaded.signatures["serving_default"](**{k: tf.constant(v) for k, v in run.items()}).items()}, expected)


def case_control_flow_in_a_saved_model(folder):
    runs = [{"x": numbers(2, 4), "n": np.int32(n)} for n in (3, 0)]
    model = answers(Loops(tf.tanh), folder, *runs)
    assert model.needs_tensorflow == "" and natives(model, "control_flow"), model.summary()
    runs_here_too(folder, *runs)
    model.save_plan(folder / "whole.plan")  # which has the control flow too
    close(lanner.load(folder / "whole.plan")(runs[0])["y"], model(runs[0])["y"])


def case_control_flow_is_in_the_engine_of_a_model_without_tensorflow(folder):
    early(folder, tf.tanh)
    model = lanner.tf.convert(folder / "original", stand_alone=True, budget=0)
    assert not natives(model, "control_flow"), model.summary()
    run = {"x": numbers(2, 4), "n": np.int32(3)}
    close(model(run)["y"], tf.saved_model.load(str(folder / "original")).signatures["serving_default"](**{k: tf.constant(v) for k, v in run.items()})["y"].numpy())
    raises(lambda: model.save(folder / "kept"), "has control flow", "that a saved model cannot hold")
    assert not (folder / "kept").exists()


def early(folder, step):
    """The same in control flow of TensorFlow 1, with both kinds of variables."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default(), v1.Session() as session:
        x, n = v1.placeholder(tf.float32, [2, 4], name="x"), v1.placeholder(tf.int32, [], name="n")
        variables = [
            v1.get_variable(name, [4, 4], initializer=v1.random_normal_initializer(seed=1), use_resource=resource)
            for name, resource in (("w", False), ("r", True))
        ]
        y = tf.nn.relu(tf.matmul(x, variables[0])) + 0.5
        _, y = tf.while_loop(lambda i, _: i < n, lambda i, v: (i + 1, step(tf.matmul(v, variables[0]) + tf.matmul(v, variables[1]))), [0, y])
        y = tf.cond(tf.reduce_sum(y) > 0, lambda: step(tf.matmul(y, variables[0])), lambda: y - 1.0)
        y = tf.nn.softmax(tf.nn.relu(tf.matmul(y, variables[1])) * 2 - 1, name="y")
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(folder / "original"), {"x": x, "n": n}, {"y": y})
    v1.enable_control_flow_v2()


def case_control_flow_of_tensorflow_1_in_a_saved_model(folder):
    early(folder, tf.tanh)
    runs = [{"x": numbers(2, 4), "n": np.int32(n)} for n in (3, 0)]
    model = compared(folder, *runs)
    assert model.needs_tensorflow == "", model.needs_tensorflow
    runs_here_too(folder, *runs)


def case_control_flow_of_tensorflow_1_with_an_operator_without_a_rule(folder):
    early(folder, lambda v: tf.math.lgamma(tf.abs(v) + 1.0))
    model = compared(folder, *({"x": numbers(2, 4), "n": np.int32(n)} for n in (3, 0)))
    assert "While" in natives(model) and any(part["engine"] for part in model.parts), model.summary()
    refused(folder, "Lgamma")


def case_a_detector(folder):
    run = {"picture": numbers(2, 16, 16, 3)}
    model = answers(Detector(), folder, run)
    assert model.needs_tensorflow == ""
    runs_here_too(folder, run)


def case_a_translator(folder):
    runs = [{"tokens": np.int32([3, 5, 7])}, {"tokens": np.int32([2])}]
    model = answers(Translator(), folder, *runs)
    assert model.needs_tensorflow == "", model.needs_tensorflow
    runs_here_too(folder, *runs)


def case_a_policy(folder):
    model = answers(Policy(), folder, {"observation": numbers(3, 6), "seed": np.int32([1, 2])})
    assert "StatelessMultinomial" in natives(model), natives(model)
    assert any(node["op"] == "MatMul" and node["engine"] for node in model.nodes)
