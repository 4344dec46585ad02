"""What the driver's Python (`scheduler.py`, `fast_call.py`) is made of besides arithmetic: memory, atomics and C calls.
`words.py` turns each call into instructions. As Python they do the same, not atomically: for tests and debugging."""

import ctypes


def peek(address: int) -> int:
    """The word at an address."""
    return ctypes.c_int64.from_address(address).value


def peek8(address: int) -> int:
    """The byte at an address."""
    return ctypes.c_uint8.from_address(address).value


def peek32(address: int) -> int:
    """The signed 32-bit integer at an address."""
    return ctypes.c_int32.from_address(address).value


def poke(address: int, value: int) -> None:
    """Store a word."""
    ctypes.c_int64.from_address(address).value = value


def atomic_peek(address: int) -> int:
    """Sequentially consistent load."""
    return peek(address)


def atomic_poke(address: int, value: int) -> None:
    """Sequentially consistent store."""
    poke(address, value)


def atomic_add(address: int, value: int) -> int:
    """Add to a word; gives its value before."""
    before = peek(address)
    poke(address, before + value)
    return before


def swap_if(address: int, expected: int, value: int) -> bool:
    """Replace a word if it is as expected; gives whether it was."""
    if peek(address) != expected:
        return False
    poke(address, value)
    return True


def pause() -> None:
    """Tell the core that this is a spin loop."""


def save_float_state(address: int) -> None:
    """Store the rounding and denormal modes of this thread in a word; where they cannot be changed, the default."""
    poke(address, 0x1F80)


def load_float_state(address: int) -> None:
    """Set the modes from a word."""


def invoke(function: int, *arguments: int) -> int:
    """Call a C function of words; for a void function the result means nothing."""
    return ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(function)(*arguments)


def invoke_int(function: int, *arguments: int) -> int:
    """Call a C function that returns an int."""
    return ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * len(arguments))(function)(*arguments)
