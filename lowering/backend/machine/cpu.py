"""Which processor code is compiled for: the variable `XDSL_RLX_CPU`, held against what this machine can run.
Compiling for it is in `llvm.py`."""

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from xdsl_rlx.lowering.run_errors import ConfigurationError
from xdsl_rlx.lowering.target import Target

VARIABLE = "XDSL_RLX_CPU"
NATIVE = "native"
ARM = "aarch64"

_LEVELS: dict[str, tuple[str, ...]] = {
    "x86-64": ("64bit",),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""The levels of the x86-64 psABI in order, each with what it adds to those before it."""

_WHOLE_VECTORS = "-prefer-256-bit"
"""
Withdraws LLVM's advice to leave half of a vector register of AVX-512 unused.

It is of a time when such code slowed the clock much. On a Cascade Lake whole registers take 0.6 of the time for
products, attention and special functions, 0.65 for layers and 0.85 for convolutions; sums of statistics take 1.1.
Benchmark: `breadth.py` on one thread.
"""

_LEVEL_FEATURES = {"x86-64-v4": _WHOLE_VECTORS}

_NO_GATHERS = "+prefer-no-gather"
"""
Has LLVM load elements that are apart one by one, not by instructions that gather them.

AMD's processors take 1.5 times as long to gather: a transposed 1008x1008 takes 190 us, with gathers 430. On a Cascade
Lake grid_sample takes 0.44 of the time without, and nothing takes longer as a mean of its family; where Intel's
microcode keeps data from leaking, gathers are slower yet. Benchmark: `breadth.py` "indices" and "layouts".
"""

_AMD = "znver"
"""
How LLVM's names of AMD's processors begin.

Lines are not prefetched for stores on them: on a Zen 4, programs that write megabytes take 0.89 of the time without, a
concat 0.64. Benchmark: `breadth.py` "layouts".
"""

_NEWER_INTEL = "amx-tile"
"""
A feature of Intel's processors that gather fast, from Sapphire Rapids on, whose microcode need not slow it down.

There 200,000 elements are gathered in 0.67 of the time. Benchmark: `breadth.py` "gather 200000 scalars".
"""

_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA = 158, 0x1023, 18
"""The number of the system call on x86-64, and constants of Linux (`asm/prctl.h`)."""

_NEVER_EMITTED = """
    adx aes cldemote clflushopt clwb clzero cmpccxadd enqcmd fsgsbase hreset invpcid kl lwp movdir64b movdiri movrs
    mwaitx pclmul pconfig pku prefetchi prfchw ptwrite raoint rdpid rdpru rdrnd rdseed rtm serialize sgx sha sha512
    shstk sm3 sm4 tsxldtrk uintr usermsr vaes vpclmulqdq waitpkg wbnoinvd widekl xsavec xsaveopt xsaves
"""
"""Features whose instructions no compiler chooses by itself; virtual machines often hide some of them."""

_PROBE = """
import sys
import llvmlite.binding as llvm
cpu, base, *features = sys.argv[1:]
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
# this line says on stderr that the name is unknown, and that it takes another
llvm.Target.from_default_triple().create_target_machine(cpu=cpu)
machine = llvm.Target.from_default_triple().create_target_machine(cpu=base)
text = "".join(f'''
define internal void @f{i}(ptr %p) "target-cpu"="{base}" "target-features"="+{name}" {{
    store volatile i32 0, ptr %p
    ret void }}
define void @g{i}(ptr %p) "target-cpu"="{cpu}" {{
    call void @f{i}(ptr %p)
    ret void }}
''' for i, name in enumerate(features))
module = llvm.parse_assembly(text)
module.triple, module.data_layout = llvm.get_process_triple(), str(machine.target_data)
passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
passes.getModulePassManager().run(module, passes)
# a function is put into its caller where that one's processor has all it may use
for i, name in enumerate(features):
    if " call " not in str(module.get_function(f"g{i}")):
        print(name)
"""


def choose(host: tuple[str, str]) -> tuple[str, str]:
    """
    Name and feature string of the processor to compile for: that of `XDSL_RLX_CPU`, else `host`, this machine's.

    LLVM has vectors of Intel's processors, and of x86-64-v4, fill half of the registers of AVX-512. Of this machine and
    of that level they fill all. Most processors load elements that are apart one by one.

    Raises `ConfigurationError` for a name that LLVM does not know, and for a processor with instructions that this
    machine lacks.
    """
    name = os.environ.get(VARIABLE) or NATIVE
    return _advised(host) if name == NATIVE else (_checked(name, host), _LEVEL_FEATURES.get(name, ""))


def possible_levels(host: tuple[str, str]) -> list[str]:
    """The levels that this machine can run, the lowest first."""
    possible = list[str]()
    for level in _LEVELS:
        if not _present(host) or _lacking(level, host):
            break
        possible.append(level)
    return possible


def target_of(target: tuple[str, str]) -> Target:
    """
    The vector registers of a processor given by name and feature string, with common caches.

    Those of AVX-512 count half but on processors where LLVM makes vectors of their whole length.
    """
    name, said = target
    features, stores = features_of(name, said), not name.startswith(_AMD)
    if "avx512vl" in features:
        count = 32 if name.startswith(_AMD) or _WHOLE_VECTORS in said else 16
        bf16, int8 = "avx512bf16" in features, "avx512vnni" in features
        # Zen 4 has vectors of that length as two halves
        at_once = 2 if count == 32 and name != "znver4" else 1
        amx = {"amx-tile", "amx-bf16", "amx-int8"} <= features and bf16 and int8 and are_tile_registers_permitted()
        return Target(
            lanes=16,
            registers=count,
            multiplications_at_once=at_once,
            bf16=bf16,
            int8=int8,
            amx=amx,
            prefetches_stores=stores,
        )
    if "avx2" in features or not features:
        return Target(prefetches_stores=stores)
    return Target(lanes=4, registers=32 if "neon" in features else 16)


def named(name: str, host: tuple[str, str]) -> tuple[str, str]:
    """
    Name and feature string of a processor to compile for that need not be this machine's.

    `name` is "native", a level of the x86-64 psABI, or "aarch64" for all processors of ARM with 64 bits. Raises
    `ConfigurationError` for another.
    """
    if name == NATIVE:
        return _advised(host)
    if name == ARM:
        return "generic", "+neon"
    if name not in _LEVELS:
        raise ConfigurationError(f"expected {', '.join([NATIVE, *_LEVELS])} or {ARM}, got {name!r}")
    return name, _LEVEL_FEATURES.get(name, "")


def is_host(target: tuple[str, str]) -> bool:
    """Whether a processor given by name and feature string is this machine: all that it has is listed."""
    return bool(_present(target))


def features_of(name: str, said: str) -> frozenset[str]:
    """The features of a processor given by name and feature string, as LLVM names them."""
    levels = list(_LEVELS)
    below = levels[: levels.index(name) + 1] if name in _LEVELS else []
    return _present((name, said)).union(*(_LEVELS[level] for level in below))


def lacking_dots(text: str, target: tuple[str, str]) -> str | None:
    """The extension with dot products that LLVM IR calls and a processor lacks: LLVM would end the process."""
    known = target_of(target)
    has = {
        "AVX512-BF16": (known.bf16, "@llvm.x86.avx512bf16."),
        "AVX512-VNNI": (known.int8, "@llvm.x86.avx512.vpdp"),
        "AMX": (known.amx, "@llvm.x86.ldtilecfg"),
    }
    return next((name for name, (is_there, called) in has.items() if not is_there and called in text), None)


@cache
def are_tile_registers_permitted() -> bool:
    """
    Ask the kernel for the tile registers of AMX, of 8 KiB a thread, and return whether this process may use them.

    Linux has them off in each process until it asks, by `arch_prctl` with `ARCH_REQ_XCOMP_PERM`. Threads and forked
    children inherit the permission. Linux refuses where a thread has a small stack for signals.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return system.syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA) == 0


@cache
def _advised(host: tuple[str, str]) -> tuple[str, str]:
    """A processor with what LLVM had better do for it."""
    name, features = host
    present = _present(host)
    if "avx512vl" in present:
        features = f"{features},{_WHOLE_VECTORS}"
    gathers_slowly = "avx2" in present and _NEWER_INTEL not in present
    return name, f"{features},{_NO_GATHERS}" if gathers_slowly else features


@cache
def _checked(name: str, host: tuple[str, str]) -> str:
    lacking = _lacking(name, host) if name in _LEVELS and _present(host) else _lacking_by_llvm(name, host)
    if lacking:
        raise ConfigurationError(
            f"{VARIABLE}: this machine ({host[0]}) cannot run code for {name}, which needs {', '.join(lacking)}; "
            f"{_possible(host)}"
        )
    return name


def _possible(host: tuple[str, str]) -> str:
    levels = ", ".join([NATIVE, *possible_levels(host)])
    return f"possible are {levels}, and the processors known to LLVM that have no more than this one"


@cache
def _present(host: tuple[str, str]) -> frozenset[str]:
    return frozenset(feature[1:] for feature in host[1].split(",") if feature.startswith("+"))


def _lacking(level: str, host: tuple[str, str]) -> list[str]:
    names = list(_LEVELS)
    needed = [feature for below in names[: names.index(level) + 1] for feature in _LEVELS[below]]
    return [feature for feature in needed if feature not in _present(host)]


def _lacking_by_llvm(name: str, host: tuple[str, str]) -> Sequence[str]:
    """What this machine lacks of a processor, of which LLVM is asked in a process of its own: it would complain of an
    unknown one where our user sees it."""
    absent = [feature[1:] for feature in host[1].split(",") if feature.startswith("-")]
    asked = [feature for feature in absent if feature not in _NEVER_EMITTED.split()]
    if re.fullmatch(r"[\w.+-]+", name):
        base = "x86-64" if "64bit" in _present(host) else "generic"
        command = [sys.executable, "-c", _PROBE, name, base, *asked]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if not answer.returncode and not answer.stderr:
            return answer.stdout.split()
    raise ConfigurationError(f"{VARIABLE} is {name!r}, a processor that LLVM does not know; {_possible(host)}")
