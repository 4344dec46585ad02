"""Runs that may be interrupted: while another thread runs a program, the main thread handles signals."""

import threading
from _thread import start_new_thread
from collections.abc import Callable


def run_interruptibly(run: Callable[[], None], stop: Callable[[], None]) -> None:
    """
    `run()`, which should release the interpreter lock, on a thread of its own if this is the main one.

    What a signal handler raises meanwhile, such as Ctrl-C's `KeyboardInterrupt`, is raised here after `stop()`, which
    makes `run` end soon, and its end. Handlers that return do not disturb it; one that needs what the run holds waits
    for its end. The thread is a new one each time, so this is for runs of milliseconds and more.
    """
    if threading.current_thread() is not threading.main_thread():
        run()
        return
    # a handler may raise between any two steps below, so each must leave a state from which one can wait; that rules
    # out `Thread.join`, which takes a thread for ended when it is interrupted, and `Thread.start`, which waits for the
    # thread's begin by a condition that an interrupt breaks
    begun, ended, done = threading.Lock(), threading.Lock(), list[bool]()
    ended.acquire()

    def run_and_tell() -> None:
        if begun.acquire(blocking=False):
            try:
                run()
            finally:
                done.append(True)
                ended.release()

    try:
        start_new_thread(run_and_tell, ())
        while not done:
            ended.acquire()
    finally:
        if not done:
            stop()
            # who has this lock keeps the thread from beginning
            if not begun.acquire(blocking=False):
                # should this be interrupted too, the thread keeps alive what it writes to until it has ended
                while not done:
                    ended.acquire()
