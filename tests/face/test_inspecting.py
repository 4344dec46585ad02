"""`inspect` and the short forms of graphs: numbers that are known, of a graph at any stage."""

import branch_texts as branches
import numpy as np
import pytest

import xdsl_rlx as rlx
from xdsl_rlx.lowering.reports.kernel_work import Unknown


def layer() -> rlx.Graph:
    g = rlx.Graph("layer")
    x, w = g.input("x", (16, 24)), g.param("w", (24, 40))
    g.set_outputs([g.tanh(x @ w), g.constant(np.ones((3, 5), np.float32)) * 2.0])
    return g


FLOPS = 2 * 16 * 24 * 40 + 16 * 40


FORMS = {
    "graph": lambda g: g,
    "module": lambda g: g.module,
    "lir": lambda g: rlx.lower(g, 2),
    "compiled": lambda g: rlx.compile(g, threads=2),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_those_of_the_program_at_any_stage(form: str):
    found = rlx.inspect(FORMS[form](layer()), threads=2)
    assert FLOPS <= found.work.flops <= FLOPS + 15 and not found.work.unknown
    assert (found.memory.inputs, found.memory.params) == (16 * 24 * 4, 24 * 40 * 4)
    assert {(x.name, x.kind, x.type, x.bytes) for x in found.buffers} == {
        ("x", "input", "f32[16, 24]", 16 * 24 * 4),
        ("w", "param", "f32[24, 40]", 24 * 40 * 4),
        ("0", "output", "f32[16, 40]", 16 * 40 * 4),
        ("1", "output", "f32[3, 5]", 60),
    }
    assert found.stage == ("lir" if form == "lir" else "mir")
    if form != "lir":
        assert dict(found.ops)["mir.matmul"] == 1 and dict(found.ops)["mir.tanh"] == 1


def test_an_inspection_is_tables():
    found = rlx.inspect(layer())
    text, html = str(found), found._repr_html_()
    for word in ("f32[16, 24]", "mir.matmul", *(kernel.name for kernel in found.kernels)):
        assert word in text and word in html


def test_loops_are_counted_as_often_as_they_run():
    g = rlx.Graph("rows")
    x, w = g.input("x", (300, 64)), g.param("w", (64, 64))
    g.set_outputs(g.scan(lambda c, x: (g.tanh(x + c @ w), c), g.constant(np.zeros((4, 64), np.float32)), x)[0])
    found = rlx.inspect(g, threads=1)
    products = 300 * 2 * 4 * 64 * 64
    assert products <= found.work.flops <= 1.1 * products and not found.work.unknown


def test_parts_that_data_decides_count_as_nothing_and_are_said():
    found = rlx.inspect(rlx.parse(branches.counted_down()))
    assert [x.work.unknown for x in found.kernels if x.runs == 0] and "≥: the length of a loop" in str(found)
    assert found.work.unknown == {Unknown.LENGTH}


def test_short_forms():
    g = layer()
    module = rlx.run_passes(g, "canonicalize")
    assert repr(module).startswith("GraphModule at mir") and "param w: tensor<24x40xf32>" in repr(module)
    assert repr(rlx.lower(g)) == "GraphModule layer at lir"
    compiled = rlx.compile(g, threads=1)
    assert "layer(x: f32[16, 24], w: f32[24, 40])" in repr(compiled) and "1 threads" in repr(compiled)
    assert repr(compiled).splitlines()[0].replace(">", "&gt;") in compiled._repr_html_()
    assert "f32&gt;" in module._repr_html_()


def test_the_short_form_of_a_program_lists_a_few_of_many_arguments():
    g = rlx.Graph("many")
    arguments = [g.input(f"x{n}", (2,)) for n in range(30)]
    g.set_outputs([arguments[0] + x for x in arguments])
    compiled = rlx.compile(g, threads=1)
    line = "CompiledGraph many(x0: f32[2], x1: f32[2], x2: f32[2], x3: f32[2], .. 30 arguments) -> (f32[2], f32[2], "
    assert repr(compiled).startswith(line) and ".. 30 results)\n" in repr(compiled)
    assert len(compiled.inputs) == len(compiled.outputs) == 30


def test_what_is_no_graph_is_said():
    with pytest.raises(rlx.GraphError, match="expected a Graph"):
        rlx.inspect(3)
