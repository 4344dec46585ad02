"""Why a collective did not end, in words that all engines share."""

from __future__ import annotations

from xdsl_rlx.lowering.backend.driver.collectives import Engine
from xdsl_rlx.lowering.backend.driver.communicate import DIFFERENT, STOPPED, TIMED_OUT


def place(engine: Engine) -> str:
    """Which process this is."""
    return f"process {engine.rank} of {engine.size}"


def reason(engine: Engine, code: int) -> str | None:
    """What a code of `communicate` says; None for others."""
    here = place(engine)
    if code == TIMED_OUT:
        late = "one has ended, hangs, or is behind"
        return f"{here} waited {engine.timeout:g} s for the others in a collective: {late}"
    if code == DIFFERENT:
        return f"{here} runs another program than others at the same time: all call the same ones in the same order"
    return f"{here} was interrupted in a collective" if code == STOPPED else None
