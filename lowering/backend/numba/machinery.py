"""The part of a printed module that tells Numba how to compile kernels: a printed module has the cells that it uses.

`helpers.py` reads this text; only tests import it. Running kernels is in `launching.py`, scalar ops in `prelude.py`.
"""

# numba has no type stubs, and attributes that appear at run time
# pyright: basic, reportAttributeAccessIssue=false, reportArgumentType=false, reportPrivateImportUsage=false
# pyright: reportOptionalCall=false, reportOptionalMemberAccess=false

import ctypes
import math
import operator
import re
import weakref

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.ir import Assign, Const, Expr, FreeVar, Global
from numba.core.typed_passes import AnnotateTypes, NativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode
from numba.extending import lower_builtin, models, register_model

from xdsl_rlx.lowering.backend.driver.layout import TOO_LONG

ELEMENTS: dict[str, type] = {}
"""NumPy's types of the element types of buffers: a printed module has its own."""


# %%
if not hasattr(types, "XdslRlxBuffer"):
    # once per process: Numba asks every template of an operator in turn, and a process may run many printed modules
    class XdslRlxBuffer(types.Type):
        """An array that is an address: its elements, shape and strides (in elements) are part of its type."""

        def __init__(self, element, shape, strides):
            super().__init__(f"buffer({element}, {shape}, {strides})")
            self.element, self.shape, self.strides = element, shape, strides

    @register_model(XdslRlxBuffer)
    class BufferModel(models.PrimitiveModel):
        def __init__(self, manager, type):
            super().__init__(manager, type, manager[type.element].get_data_type().as_pointer())

    def pointer_to(context, builder, buffer, pointer, kind, index):
        """To an element: indices lie within the shape and are not negative, as those of Numba's arrays may be."""
        many = isinstance(kind, types.BaseTuple)
        kinds, indices = (list(kind), cgutils.unpack_tuple(builder, index)) if many else ([kind], [index])
        offset = ir.Constant(ir.IntType(64), 0)
        for kind, index, stride in zip(kinds, indices, buffer.strides, strict=True):
            index = context.cast(builder, index, kind, types.intp)
            step = builder.mul(index, ir.Constant(index.type, stride), flags=("nuw", "nsw"))
            offset = builder.add(offset, step, flags=("nuw", "nsw"))
        return builder.gep(pointer, [offset], inbounds=True)

    @infer_global(operator.getitem)
    class GetElement(AbstractTemplate):
        def generic(self, args, keywords):
            return signature(args[0].element, *args) if isinstance(args[0], XdslRlxBuffer) else None

    @infer_global(operator.setitem)
    class SetElement(AbstractTemplate):
        def generic(self, args, keywords):
            known = isinstance(args[0], XdslRlxBuffer)
            return signature(types.none, *args[:2], args[0].element) if known else None

    @lower_builtin(operator.getitem, XdslRlxBuffer, types.Any)
    def get_element(context, builder, sig, args):
        buffer = sig.args[0]
        pointer = pointer_to(context, builder, buffer, args[0], sig.args[1], args[1])
        return context.unpack_value(builder, buffer.element, pointer)

    @lower_builtin(operator.setitem, XdslRlxBuffer, types.Any, types.Any)
    def set_element(context, builder, sig, args):
        pointer = pointer_to(context, builder, sig.args[0], args[0], sig.args[1], args[1])
        context.pack_value(builder, sig.args[0].element, args[2], pointer)
        return context.get_dummy_value()

    XdslRlxBuffer.pointer_to = staticmethod(pointer_to)
    types.XdslRlxBuffer = XdslRlxBuffer


def array_type(text, hi=0):
    """NumPy's dtype, shape and strides (in elements) of a text such as f32[4, 3] strides [1, 4], or f32[hi]."""
    element, shape, strides = re.fullmatch(r"([\w<>]+)\[(.*?)\](?: strides \[(.*)\])?", text).groups()
    shape = shape.replace("hi", str(hi))
    shape, strides = (tuple(map(int, x.split(","))) if x else () for x in (shape, strides))
    if len(strides) != len(shape):
        strides = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    return np.dtype(ELEMENTS[element]), shape, strides


def buffer(text):
    """Numba's type of such a text."""
    element, shape, strides = array_type(text)
    return types.XdslRlxBuffer(from_dtype(element), shape, strides)


def view(text, address, hi):
    """For plain Python: the array of such a text at an address."""
    element, shape, strides = array_type(text, hi)
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    memory = (ctypes.c_char * (size * element.itemsize)).from_address(address)
    return np.ndarray(shape, element, memory, 0, tuple(s * element.itemsize for s in strides))


# %%
def typed(meaning, sign, build):
    """Let Numba compile calls of a function as `build(context, builder, sig, args)`; its body is what it means."""

    class Call(AbstractTemplate):
        key = meaning

        def generic(self, args, keywords):
            return sign(*map(types.unliteral, args))

    infer_global(meaning, types.Function(Call))
    lower_builtin(meaning, types.VarArg(types.Any))(build)
    return meaning


# %%
def lowered(build, result=None):
    """Let Numba compile calls of a function as `build(builder, type, *values)`; its body is what it means."""

    def lower(context, builder, sig, args):
        return build(builder, context.get_value_type(sig.return_type), *args)

    return lambda meaning: typed(meaning, lambda *args: signature(result or args[-1], *args), lower)


# %%
def intrinsic(name, result=None):
    """Let Numba compile calls of a function as an LLVM intrinsic, overloaded on its operands (and its result)."""
    suffix = {"float": "f32", "double": "f64"}

    def build(builder, type, *args):
        operand = str(args[0].type)
        overloads = [str(type)] * (result is not None) + [suffix.get(operand, operand)]
        function = ir.FunctionType(type, [x.type for x in args])
        callee = cgutils.get_or_insert_function(builder.module, function, ".".join(["llvm", name, *overloads]))
        return builder.call(callee, args)

    return lowered(build, result)


# %%
@register_pass(mutates_CFG=False, analysis_only=False)
class FoldNumbers(FunctionPass):
    """Numbers such as np.float32(0.5) as constants, rather than as calls to be typed and lowered."""

    _name = "fold_numbers"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        for block in state.func_ir.blocks.values():
            known, made_by = {}, {}
            for inst in block.find_insts(Assign):
                name, value = inst.target.name, inst.value
                if isinstance(value, Const | Global | FreeVar):
                    known[name], made_by[name] = value.value, [inst]
                elif not isinstance(value, Expr):
                    continue
                elif value.op == "getattr" and known.get(value.value.name) is np:
                    known[name] = getattr(np, value.attr)
                    made_by[name] = [*made_by[value.value.name], inst]
                elif value.op == "call" and len(value.args) == 1 and value.args[0].name in known:
                    kind = known.get(value.func.name)
                    if isinstance(kind, type) and issubclass(kind, np.number):
                        inst.value = Const(kind(known[value.args[0].name]), inst.loc)
                        for used in (*made_by[value.func.name], *made_by[value.args[0].name]):
                            block.body.remove(used)
        return True


class Memory:
    """A typing context that remembers the signatures it has found: the same few operators are asked for all along."""

    def __init__(self, context):
        self.context, self.found = context, {}

    def __getattr__(self, name):
        return getattr(self.context, name)

    def resolve_function_type(self, function, args, keywords):
        if keywords:
            return self.context.resolve_function_type(function, args, keywords)
        if (function, args) not in self.found:
            self.found[function, args] = self.context.resolve_function_type(function, args, keywords)
        return self.found[function, args]


class Lean(CompilerBase):
    """The passes that this text needs, of the thirty that Numba runs on any Python."""

    def __init__(self, typing, *rest):
        super().__init__(typing if isinstance(typing, Memory) else Memory(typing), *rest)

    def define_pipelines(self):
        passes = PassManager("lean")
        for one in (
            *(TranslateByteCode, FixupArgs, FoldNumbers, IRProcessing),
            *(NopythonTypeInference, AnnotateTypes, NativeLowering, NoPythonBackend),
        ):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


def compiled(body, inline):
    """How Numba calls `body`: compiled into the library of whatever calls it, once, where all is optimised together."""
    done = weakref.WeakKeyDictionary()

    def build(context, builder, sig, args):
        library = context.active_code_library
        known = done.setdefault(library, {})
        if sig.args not in known:
            flags = Flags()
            flags.error_model = "numpy"
            flags.enable_ssa = False
            flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
            flags.forceinline, flags.noalias = inline, True
            pipeline = Lean(context.typing_context, context, library, sig.args, sig.return_type, flags, {})
            known[sig.args] = pipeline.compile_extra(body).fndesc
            code = library.get_function(known[sig.args].llvm_func_name)
            code.linkage = "linkonce_odr"
            if not inline:
                # once inlined, what is known of aliases lives on in metadata that the vectoriser loses more easily
                code.add_function_attribute("noinline")
        return context.call_internal_no_propagate(builder, known[sig.args], sig, args)[1]

    return build


# %%
def function(result=None):
    """A function of numbers, compiled into its callers; its result has the type of its last argument, or this one."""
    return lambda body: typed(body, lambda *args: signature(result or args[-1], *args), compiled(body, True))


# %%
def kernel(*arrays):
    """A function of addresses and a range [lo, hi), whose body sees arrays of these types, none of which overlap."""

    def decorate(body):
        build = compiled(body, False)
        inner = [*map(buffer, arrays), types.int64, types.int64]

        def run(*arguments):
            *addresses, lo, hi = arguments
            body(*(view(text, address, hi) for text, address in zip(arrays, addresses, strict=True)), lo, hi)

        def lower(context, builder, sig, args):
            values = [
                builder.inttoptr(x, context.get_value_type(t)) if isinstance(t, types.XdslRlxBuffer) else x
                for x, t in zip(args, inner, strict=True)
            ]
            return build(context, builder, signature(types.none, *inner), values)

        run.__name__, run.buffers = body.__name__, len(arrays)
        return typed(run, lambda *_: signature(types.none, *[types.int64] * len(inner)), lower)

    return decorate


# %%
def stack(text):
    """An array that lives as long as the function runs."""
    element, shape, _ = array_type(text)
    return np.empty(shape, element)


class Stack(AbstractTemplate):
    key = stack
    prefer_literal = True

    def generic(self, args, keywords):
        return signature(buffer(args[0].literal_value), *args) if isinstance(args[0], types.StringLiteral) else None


infer_global(stack, types.Function(Stack))


@lower_builtin(stack, types.Any)
def _lower_stack(context, builder, sig, args):
    with builder.goto_entry_block():
        memory = builder.alloca(context.get_data_type(sig.return_type.element), math.prod(sig.return_type.shape))
    memory.align = 64
    return memory


# %%
def at(array, index):
    """The address of an element."""
    return array.ctypes.data + sum(i * s for i, s in zip(index, array.strides, strict=True))


def _lower_at(context, builder, sig, args):
    pointer = types.XdslRlxBuffer.pointer_to(context, builder, sig.args[0], args[0], sig.args[1], args[1])
    return builder.ptrtoint(pointer, ir.IntType(64))


typed(at, lambda *args: signature(types.int64, *args), _lower_at)


# %%
class Hint(ir.MDValue):
    def descr(self, buf):
        references = [self.get_reference(), *(x.get_reference() for x in self.operands)]
        buf.append(f"distinct !{{ {', '.join(references)} }}\n")


def loop_hint(*properties):
    """What LLVM is told of a loop that ends with a call of this function: properties of its `llvm.loop`."""

    def node(x):
        if isinstance(x, tuple):
            return [node(y) for y in x]
        return ir.IntType(1 if isinstance(x, bool) else 32)(x) if isinstance(x, int) else x

    def build(context, builder, sig, args):
        jump, module = builder.branch, builder.module
        nodes = [module.add_metadata(node(x)) for x in properties]

        def branch(target):
            # the next jump is the one back to the head of the loop
            del builder.branch
            jump(target).set_metadata("llvm.loop", Hint(module, nodes, str(len(module.metadata))))

        builder.branch = branch
        return context.get_dummy_value()

    return typed(lambda: None, lambda: signature(types.none), build)


# %%
def refuse(message, value):
    """Say what is wrong, before the kernel is left; the first that says something is heard."""
    raise IndexError(message, value)


class Refuse(AbstractTemplate):
    key = refuse
    prefer_literal = True

    def generic(self, args, keywords):
        return signature(types.none, *args) if isinstance(args[0], types.StringLiteral) else None


infer_global(refuse, types.Function(Refuse))


def status_address(module):
    """The word of a module that holds the address of three: a message or 0, the value it is about, if it is brief."""
    if "rlx_status" not in module.globals:
        cell = ir.GlobalVariable(module, ir.IntType(64), "rlx_status")
        cell.linkage, cell.initializer = "linkonce_odr", ir.IntType(64)(0)
    return module.globals["rlx_status"]


@lower_builtin(refuse, types.Any, types.Any)
def _lower_refuse(context, builder, sig, args):
    word = ir.IntType(64)
    place = builder.inttoptr(builder.load(status_address(builder.module)), word.as_pointer())
    message = context.insert_const_string(builder.module, sig.args[0].literal_value)
    found = builder.cmpxchg(place, word(0), builder.ptrtoint(message, word), "seq_cst")
    with builder.if_then(builder.extract_value(found, 1)):
        builder.store(context.cast(builder, args[1], sig.args[1], types.int64), builder.gep(place, [word(1)]))
    return context.get_dummy_value()


def report_to(memory, place):
    """Let the kernels that follow report to three words of the memory."""


def _lower_report_to(context, builder, sig, args):
    place = builder.ptrtoint(builder.gep(args[0], [args[1]]), ir.IntType(64))
    builder.store(place, status_address(builder.module))
    return context.get_dummy_value()


typed(report_to, lambda *args: signature(types.none, *args), _lower_report_to)


# %%
def goes_on(count, limit):
    """Whether a loop goes on that has been through so many iterations; from a limit on, it may be asked to end."""
    return True


def _lower_goes_on(context, builder, sig, args):
    word = ir.IntType(64)
    place = builder.inttoptr(builder.load(status_address(builder.module)), word.as_pointer())
    count, limit = (context.cast(builder, x, kind, types.int64) for x, kind in zip(args, sig.args, strict=True))
    is_brief = builder.icmp_signed("!=", builder.load(builder.gep(place, [word(2)])), word(0))
    ends = builder.and_(builder.icmp_signed(">", count, limit), is_brief)
    with builder.if_then(ends, likely=False):
        builder.cmpxchg(place, word(0), word(TOO_LONG), "seq_cst")
    return builder.icmp_signed("==", builder.load_atomic(place, "monotonic", 8), word(0))


typed(goes_on, lambda *args: signature(types.boolean, *args), _lower_goes_on)


# %%
def _lower_is_set(builder, type, address):
    byte = builder.load(builder.inttoptr(address, ir.IntType(8).as_pointer()))
    return builder.icmp_unsigned("!=", byte, byte.type(0))


@lowered(_lower_is_set, types.boolean)
def is_set(address):
    """Whether the byte at an address is not 0."""
    return ctypes.c_uint8.from_address(address).value != 0
