"""Idle threads of PyTorch leave the cores to compiled programs."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import threading, time
import torch
from xdsl_rlx.frontends.hosts.torch_threads import calm_openmp

torch.set_num_threads(2)
x = torch.ones(1 << 20)


def busy():
    # the time that idle threads take, of all cores
    found = []
    for _ in range(20):
        x.add_(1)
        before = time.process_time()
        time.sleep(0.03)
        found.append(time.process_time() - before)
    return sorted(found)[10]


torch.add(x, 1)
before, settings = busy(), (torch.get_num_threads(), torch.get_num_interop_threads())
calmed, again = calm_openmp(), calm_openmp()
found = []
threading.Thread(target=lambda: found.append(torch.get_num_threads())).start()
print(calmed, again, (torch.get_num_threads(), torch.get_num_interop_threads()) == settings, before, busy())
assert float(x.sum()) > 0 and torch.ones(1 << 20).sum() == 1 << 20
"""


def run(**environment: str) -> list[str]:
    environment = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_idle_threads_sleep_soon() -> None:
    calmed, again, same, before, after = run()
    assert (calmed, again, same) == ("True", "True", "True")
    assert float(after) < 0.001 < 0.003 < float(before)


@pytest.mark.parametrize("setting", ("OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=100"))
def test_settings_of_the_user_stay(setting: str) -> None:
    name, value = setting.split("=")
    assert run(**{name: value})[0] == "False"
