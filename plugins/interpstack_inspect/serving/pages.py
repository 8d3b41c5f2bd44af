"""The pages of the inspector, as an application of Starlette."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial, wraps
from typing import Any, Final
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from interpstack import InterpstackError
from interpstack_inspect.contract.source import AnswerRefused, NotRecorded, RunSource
from interpstack_inspect.serving.changes import versions
from interpstack_inspect.serving.compare_views import Choice, compare_view
from interpstack_inspect.serving.forms import FormFault, answer_of, read_form
from interpstack_inspect.serving.gate import OPEN_PATH, VISITOR, RequestGate, cookie_name
from interpstack_inspect.serving.overview import FILTERS, LISTED, Overview, version_of
from interpstack_inspect.serving.views import Views, code_lines, eval_view
from interpstack_inspect.serving.visitors import Visitor, Visitors
from interpstack_inspect.serving.workflow_views import asked_in, pruned, run_version
from interpstack_inspect.shown.templates import record_style, static_file

__all__ = ["inspector"]

#: Runs of workflows in the list.
_LISTED: Final = 100
#: Seconds between two looks at a page that is followed: at one conversation, and at others.
_LOOK_SECONDS: Final = 1.0
_WIDE_LOOK_SECONDS: Final = 3.0
#: Pages that follow a conversation at once.
_STREAMS: Final = 64
#: Characters of a name that is asked for, and of a number.
_NAME_CHARS: Final = 2_000
_DIGITS: Final = 9
_TITLES: Final = {
    400: "This address is incomplete",
    401: "A link is needed",
    403: "Refused",
    404: "Not recorded",
    405: "Not possible",
    409: "The answer was not passed on",
    421: "Another address",
    422: "The form is incomplete",
    500: "The page could not be made",
    503: "The records cannot be read now",
}

_Page = Callable[[Request], Awaitable[Response]]


def inspector(source: RunSource, visitors: Visitors) -> ASGIApp:
    """The inspector of a source as an ASGI application, with everything that guards it.

    Args:
        source: The source, which stays the caller's.
        visitors: The browsers that may look.

    Raises:
        ConfigurationError: A package is missing.
    """
    pages = _Pages(source, visitors)
    routes = [
        Route(OPEN_PATH, pages.open),
        Route("/", pages.conversations),
        Route("/conversation", pages.conversation),
        Route("/eval", pages.eval),
        Route("/compare", pages.compare),
        Route("/changes", pages.changes),
        Route("/workflows", pages.workflows),
        Route("/workflow", pages.workflow),
        Route("/answer", pages.answer, methods=["POST"]),
        *pages.static_routes(),
    ]
    app = Starlette(
        routes=routes, exception_handlers={HTTPException: pages.refused, Exception: pages.broken}
    )
    return RequestGate(app, visitors, pages.problem)


def _shown(page: Callable[[Any, Request], Awaitable[Response]]) -> Any:
    """A page that says what is wrong where the source cannot be read."""

    @wraps(page)
    async def shown(self: _Pages, request: Request) -> Response:
        try:
            return await page(self, request)
        except NotRecorded as error:
            return self.problem(404, str(error))
        except AnswerRefused as error:
            return self.problem(409, str(error))
        except FormFault as error:
            return self.problem(422, str(error))
        except InterpstackError as error:
            return self.problem(503, str(error))

    return shown


class _Pages:
    def __init__(self, source: RunSource, visitors: Visitors) -> None:
        self._source = source
        self._visitors = visitors
        self._views = Views(source.title)
        self._overview = Overview(source)
        self._streams = 0

    def static_routes(self) -> list[Route]:
        """Scripts and styles, which hold nothing of the records."""
        style = f"{record_style()}\n{static_file('inspect.css')}"
        texts = {
            "style.css": (style, "text/css"),
            "inspect.js": (static_file("inspect.js"), "text/javascript"),
            "icon.svg": (static_file("icon.svg"), "image/svg+xml"),
        }
        return [
            Route(f"/static/{name}", partial(_static, text=text, kind=kind))
            for name, (text, kind) in texts.items()
        ]

    def problem(self, status: int, problem: str) -> Response:
        """A page that says why there is nothing else."""
        title = _TITLES.get(status, "Not possible")
        given = {"title": title, "problem": problem, "again": status == 503}
        return HTMLResponse(self._views.page("problem", **given), status)

    async def refused(self, request: Request, error: Exception) -> Response:
        """A page for a request that has no page, or asks for one in the wrong way."""
        status = error.status_code if isinstance(error, HTTPException) else 400
        detail = error.detail if isinstance(error, HTTPException) else ""
        return self.problem(status, "There is no such page." if status == 404 else detail)

    async def broken(self, request: Request, error: Exception) -> Response:
        """A page for records of a form that the templates do not expect; the server logs why."""
        return self.problem(
            500,
            "The page could not be made: the record may be damaged. See the terminal for details.",
        )

    async def open(self, request: Request) -> Response:
        """Exchange the token of a link for a cookie."""
        visitor = self._visitors.enter(request.query_params.get("token", ""))
        if visitor is None:
            return self.problem(
                401,
                "This link was used, or is incomplete: open the link that was printed last.",
            )
        page = HTMLResponse(self._views.page("opened"))
        port = (request.scope.get("server") or ("", 0))[1]
        page.set_cookie(cookie_name(port), visitor.cookie, httponly=True, samesite="strict")
        return page

    @_shown
    async def conversations(self, request: Request) -> Response:
        """The list of conversations."""
        containing = request.query_params.get("containing", "")[:_NAME_CHARS]
        only, skip = request.query_params.get("only", ""), _number(request, "skip", 0)
        if only not in FILTERS:
            known = ", ".join(filter(None, FILTERS))
            raise HTTPException(400, f"Its part only takes one of: {known}.")
        waiting, more_waiting = await self._overview.waiting()
        return self._page(
            "conversations",
            live="",
            version=version_of(waiting),
            limit=LISTED,
            waiting=waiting,
            more_waiting=more_waiting,
            listed=await self._overview.listed(containing=containing, only=only, skip=skip),
            filters=FILTERS,
            only=only,
            skip=skip,
            containing=containing,
            **self._asking(request),
        )

    def _asking(self, request: Request) -> dict[str, Any]:
        """The values of pages with questions."""
        return {
            "form_token": _visitor(request).form_token,
            "takes_answers": self._source.takes_answers,
            "takes_run_answers": self._source.takes_run_answers,
        }

    @_shown
    async def conversation(self, request: Request) -> Response:
        """One conversation."""
        name = _name(request)
        version = await self._source.version(name)  # before: else a change could be missed
        return self._page(
            "conversation",
            live=f"name={quote(name)}",
            version=version,
            found=await self._source.conversation(name),
            **self._asking(request),
        )

    @_shown
    async def answer(self, request: Request) -> Response:
        """Answer a question, and go on to its conversation, its run, or the first page."""
        is_run = "run" in request.query_params
        name = _name(request, "run", "a run") if is_run else _name(request)
        form = await read_form(request)
        if not _visitor(request).sent(form.get("token", "")):
            return self.problem(403, "This form belongs to another browser: open the page again.")
        asked = (form.get("question", ""), form.get("digest", ""))
        if is_run:
            questions = await self._source.run_questions(name)
        else:
            questions = (await self._source.conversation(name)).questions
        open_questions = {(one.id, one.digest): one for one in questions}
        if asked not in open_questions:
            raise AnswerRefused(
                "This question is no longer open, or it was asked again. Nothing was done; open "
                f"the {'run' if is_run else 'conversation'} again."
            )
        answer = answer_of(open_questions[asked], form)
        await (self._source.answer_run if is_run else self._source.answer)(name, *asked, answer)
        if form.get("back") == "first":
            return RedirectResponse("/", 303)
        page = "/workflow" if is_run else "/conversation"
        return RedirectResponse(f"{page}?{urlencode({'run' if is_run else 'name': name})}", 303)

    @_shown
    async def eval(self, request: Request) -> Response:
        """One eval."""
        name = _name(request)
        version = await self._source.version(name)
        one = await self._source.eval(name, _number(request, "number"))
        live = f"name={quote(name)}"
        return self._page("eval", name=name, live=live, version=version, **eval_view(one))

    @_shown
    async def compare(self, request: Request) -> Response:
        """Two evals or conversations, side by side."""
        given = await compare_view(self._source, Choice.of(request.query_params))
        return self._page("compare", **given)

    @_shown
    async def changes(self, request: Request) -> Response:
        """A stream of the versions of a conversation, a run or the questions, for their pages."""
        if self._streams >= _STREAMS:
            return self.problem(
                503, f"{_STREAMS} other pages are live already; reload this one to see more."
            )
        if "run" in request.query_params:
            run = partial(self._run_version, _name(request, "run", "a run"))
            stream = self._versions(run, _WIDE_LOOK_SECONDS)
        elif "name" in request.query_params:
            stream = self._versions(partial(self._source.version, _name(request)), _LOOK_SECONDS)
        else:
            stream = self._versions(self._overview.version, _WIDE_LOOK_SECONDS)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def _versions(
        self, read: Callable[[], Awaitable[str]], seconds: float
    ) -> AsyncIterator[str]:
        self._streams += 1
        try:
            async for version in versions(read, seconds):
                yield version
        finally:
            self._streams -= 1

    async def _run_version(self, run_id: str) -> str:
        run, _ = await self._source.workflow(run_id)
        return run_version(run, await self._source.run_questions(run_id))

    @_shown
    async def workflows(self, request: Request) -> Response:
        """The list of runs of workflows."""
        return self._page("workflows", runs=await self._source.workflows(_LISTED), limit=_LISTED)

    @_shown
    async def workflow(self, request: Request) -> Response:
        """One run of a workflow, as a tree."""
        run_id = _name(request, "run", "a run")
        run, tree = await self._source.workflow(run_id)
        questions = await self._source.run_questions(run_id)
        hidden = pruned(tree)
        ending = run.source_name.rpartition(".")[2]  # a name of the language, too
        code = code_lines(run.source, ending)
        return self._page(
            "workflow",
            live=f"run={quote(run_id)}",
            version=run_version(run, questions),
            run=run,
            tree=tree,
            hidden=hidden,
            code=code,
            questions=questions,
            asks=asked_in(run),
            **self._asking(request),
        )

    def _page(self, template: str, **given: Any) -> Response:
        return HTMLResponse(self._views.page(template, **given))


async def _static(request: Request, *, text: str, kind: str) -> Response:
    return Response(text, media_type=kind)


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = getattr(request.state, VISITOR)
    return visitor


def _name(request: Request, key: str = "name", of: str = "a conversation") -> str:
    name = request.query_params.get(key)
    if name is None or len(name) > _NAME_CHARS:
        raise HTTPException(400, f"It must name {of}, with up to {_NAME_CHARS} characters.")
    return name


def _number(request: Request, key: str, default: int | None = None) -> int:
    text = request.query_params.get(key, "" if default is None else str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise HTTPException(400, f"Its part {key} takes a number of up to {_DIGITS} digits.")
    return int(text)
