"""Commands to a kernel, and answers that are none."""

from __future__ import annotations

import pytest
from kernels import GREETING, Fake, drive, end, started

from interpstack_node.kernels.conversation import Callbacks
from interpstack_node.kernels.process import KernelDied
from interpstack_node.kernels.waiting import converse_blocking


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("send('F', b'ReferenceError: x')", "a failure of its own: ReferenceError: x"),
        ("send('Z', b'nothing')", "a malformed end of an answer"),
        ("send('Z', b'{}')", "a malformed end of an answer"),
        ("send('Z', b'[1]')", "a malformed end of an answer"),
        ("send('Z', b'['*100000)", "a malformed end of an answer"),
        ('send(\'Z\', b\'{"stopped":1,"seen":0,"heap":1,"external":1}\')', "malformed"),
        (
            'send(\'Z\', b\'{"stopped":true,"seen":0,"heap":1e999,"external":1}\')',
            "malformed",
        ),
        ("send('R', b'{}')", "a malformed question"),
        ("send('R', b'[1,2]')", "a malformed question"),
        ("send('R', b'[\"a\"')", "a question that is not JSON"),
        ("send('D', b'\\xff')", "text that is not UTF-8"),
        ("while True: send('P', b'x' * 1000)", "an answer of more than 1048576 bytes"),
        ("while True: send('E')", "more than 50000 frames"),
        ("os._exit(7)", "ended with status 7"),
    ],
)
def test_nonsense_ends_the_kernel(fake_node: Fake, answer: str, found: str) -> None:
    with pytest.raises(KernelDied, match=found):
        started(fake_node(f"{GREETING}receive()\n{answer}\nreceive()"))


def test_more_than_one_answer_ends_the_kernel(fake_node: Fake) -> None:
    kernel = started(fake_node(f"{GREETING}receive(); {end()}; {end()}\nreceive(); receive()"))
    # The second end may arrive with the first one, or answer the next command.
    asking = (kernel.ask("say", "[]", seconds=1) for _ in range(2))
    with pytest.raises(KernelDied, match=r"more than was asked for|ended with status 0"):
        drive(asking)


def test_what_a_kernel_says_is_taken(fake_node: Fake) -> None:
    said = "send('D', b'one'); send('D', b'two'); send('P', b'line'); send('E'); send('V', b'{}')"
    kernel = started(fake_node(f"{GREETING}receive(); {end()}\nreceive(); {said}; {end()}"))
    lines: list[str] = []
    talk = kernel.talk(["end"], 1.0, Callbacks(printed=lines.append))
    answer = converse_blocking(talk)
    assert (list(answer.drained), answer.values, lines) == (["one", "two"], "{}", ["line"])
    assert (answer.stopped, answer.memory_bytes) == (False, 1)
    kernel.close()


def test_a_caller_that_is_gone_leaves_no_answer_behind(fake_node: Fake) -> None:
    kernel = started(fake_node(f"{GREETING}receive(); {end()}\nreceive(); receive()"))
    talk = kernel.talk(["begin"], 1.0)
    next(talk)
    talk.close()
    with pytest.raises(KernelDied, match="its caller ended"):
        kernel.ask("say", "[]", seconds=1)
