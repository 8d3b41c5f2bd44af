"""interpstack for PydanticAI agents: a capability with a code interpreter.

Read `capability` for the arguments, `toolset` for what an agent sees, and `evals` for the run of
one eval from the model's call to its answer.
"""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("pydantic_ai") is None:
    raise ModuleNotFoundError(
        "interpstack_pydantic_ai needs pydantic_ai; install the extra with: "
        "pip install 'interpstack[pydantic-ai]'",
        name="pydantic_ai",
    )

from interpstack_pydantic_ai.capability import PRESET, CodeInterpreter
from interpstack_pydantic_ai.questions import answers, questions

__all__ = ["PRESET", "CodeInterpreter", "answers", "questions"]
