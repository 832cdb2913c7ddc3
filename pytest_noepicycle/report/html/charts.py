"""The charts, as inline SVG: the score and the spending over the attempts, rungs as colours and forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup, escape

from pytest_noepicycle.domain.decision import Action
from pytest_noepicycle.report.history import History, Step
from pytest_noepicycle.report.text import harmless

COLOURS = 6
"""How many colours for rungs the style sheet has; a longer ladder begins again."""
_WIDTH, _LEFT, _RIGHT, _TOP = 760, 46, 16, 34
_SCORE_HEIGHT, _SPENT_HEIGHT = 180, 120
_MOST = 200  # attempts in a chart; of more, the last are shown


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things stand: ``count`` attempts in equal columns, values from 0 to ``top`` over ``height``."""

    count: int
    height: int
    top: float

    def x(self, place: float) -> float:
        """Return the middle of a column, from zero; halves are the borders between them."""
        return round(_LEFT + (place + 0.5) * (_WIDTH - _LEFT - _RIGHT) / self.count, 1)

    def y(self, value: float) -> float:
        """Return the height of a value."""
        return round(_TOP + self.height * (1 - value / self.top), 1)

    @property
    def bottom(self) -> int:
        """Return where the columns stand."""
        return _TOP + self.height


def colour_of(past: History) -> dict[str, int]:
    """Return the colour of each rung, by the ladder's order."""
    names = [*(past.ladder.rungs if past.ladder else ()), *past.rungs]
    return {name: place % COLOURS for place, name in enumerate(dict.fromkeys(names))}


def score_chart(past: History) -> Markup:
    """Return the score of each attempt, the best so far as a line, and the decisions that led on."""
    steps, course = past.steps[-_MOST:], past.course[-_MOST:]
    frame, colours = _Frame(len(steps), _SCORE_HEIGHT, 1.0), colour_of(past)
    parts = [*_grid(frame, {0.0: "0", 0.5: "0.5", 1.0: "1"}), *_stints(frame, steps), *_numbers(frame, steps)]
    parts += _decisions(frame, steps)
    parts.append(_best(frame, course))
    parts += [_point(frame, n, step, colours) for n, step in enumerate(steps)]
    words = f"Score by attempt: it goes from 0 to {course[-1]:.2f} in {len(past.steps)} attempts."
    return _svg("score", words, frame, parts)


def spending_chart(past: History) -> Markup:
    """Return the tokens of each attempt as bars, in their rung's colour."""
    steps, colours = past.steps[-_MOST:], colour_of(past)
    most = max(step.attempt.tokens for step in steps)
    frame = _Frame(len(steps), _SPENT_HEIGHT, most or 1)
    parts = [*_grid(frame, {0.0: "0", float(most): _short(most)}), *_numbers(frame, steps)]
    wide = max(1.5, min(26.0, 0.7 * (_WIDTH - _LEFT - _RIGHT) / len(steps)))
    for n, step in enumerate(steps):
        top = frame.y(step.attempt.tokens)
        place = f'x="{frame.x(n) - wide / 2:.1f}" y="{top}" width="{wide:.1f}" height="{frame.bottom - top:.1f}"'
        parts.append(f'<rect class="r{colours[step.attempt.rung]}" rx="2" {place}>{_hint(step)}</rect>')
    total = sum(step.attempt.tokens for step in past.steps)
    return _svg("spending", f"Tokens by attempt: {total:,} in all, {most:,} in the dearest.", frame, parts)


def form(colour: int, x: float = 7, y: float = 7) -> Markup:
    """Return the mark of a rung's colour: a form of its own, for whoever cannot tell the colours apart."""
    return Markup(f'<path class="r{colour}" d="{_FORMS[colour % len(_FORMS)]}" transform="translate({x} {y})"/>')


_FORMS = (
    "M-5-5h10v10h-10z",
    "M0-6a6 6 0 1 0 .01 0z",
    "M0-6.5 6 5H-6z",
    "M0-7 7 0 0 7-7 0z",
    "M0 6.5-6-5H6z",
    "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
)


def _svg(name: str, words: str, frame: _Frame, parts: list[str]) -> Markup:
    size = f'viewBox="0 0 {_WIDTH} {frame.bottom + 26}"'
    title = f'<title id="{name}-chart">{escape(words)}</title>'
    return Markup(f'<svg class="chart" {size} role="img" aria-labelledby="{name}-chart">{title}{"".join(parts)}</svg>')


def _grid(frame: _Frame, marks: Mapping[float, str]) -> Iterator[str]:
    for value, text in marks.items():
        y = frame.y(value)
        yield f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>'
        yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{text}</text>'


def _numbers(frame: _Frame, steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield the numbers of attempts, as many as there is room for."""
    every = max(1, -(-len(steps) // 20))
    for n, step in enumerate(steps):
        if n % every == 0 or (n == len(steps) - 1 and n % every > every // 2):
            x, y = frame.x(n), frame.bottom + 18
            yield f'<text class="tick" x="{x}" y="{y}" text-anchor="middle">{step.attempt.iteration}</text>'


def _stints(frame: _Frame, steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield the name of each rung over the attempts that were its own, where there is room for it."""
    begin = 0
    for rung, own in groupby(steps, key=lambda step: step.attempt.rung):
        end = begin + len(list(own))
        left, right = frame.x(begin - 0.5), frame.x(end - 0.5)
        letters = int((right - left - 8) / 6.6)
        if begin:
            yield f'<path class="border" d="M{left} {_TOP - 20}V{frame.bottom}"/>'
        if letters >= 3:
            name = rung if len(rung) <= letters else f"{rung[: letters - 1]}…"
            yield f'<text class="rung" x="{left + 6:.1f}" y="{_TOP - 10}">{escape(harmless(name))}</text>'
        begin = end


def _decisions(frame: _Frame, steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield a mark for each decision that was not to go on as before."""
    for n, step in enumerate(steps):
        for taken in step.decisions:
            action, reason = taken.decision.action, harmless(taken.decision.reason, longest=200)
            if action is not Action.CONTINUE:
                hint = f"<title>{escape(f'after attempt {step.attempt.iteration}: {action}, {reason}')}</title>"
                x = frame.x(n + 0.5) if action is Action.SWITCH else frame.x(n)
                yield f'<path class="decision {action}" d="M{x} {_TOP}V{frame.bottom}">{hint}</path>'


def _best(frame: _Frame, course: tuple[float, ...]) -> str:
    """Return the best so far, as steps."""
    path = [f"M{frame.x(-0.5)} {frame.y(course[0])}"]
    path += [f"V{frame.y(best)}H{frame.x(n + 0.5)}" for n, best in enumerate(course)]
    return f'<path class="best" d="{"".join(path)}"/>'


def _point(frame: _Frame, n: int, step: Step, colours: Mapping[str, int]) -> str:
    colour = colours[step.attempt.rung]
    mark = form(colour, frame.x(n), frame.y(min(1.0, max(0.0, step.attempt.score))))
    return f"<g>{_hint(step)}{mark}</g>"


def _hint(step: Step) -> str:
    made = step.attempt
    words = f"attempt {made.iteration}, {made.rung}: score {made.score:.2f}, {made.tokens:,} tokens"
    return f"<title>{escape(harmless(words, longest=200))}</title>"


def _short(number: int) -> str:
    return f"{number / 1000:.1f}k" if number >= 1000 else str(number)
