"""The purse: no call to a model without a reservation, none that outgrows it without a word."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.ladder import Price, Rung
from pytest_noepicycle.errors import NoepiError, ProviderError
from pytest_noepicycle.ports import Answer, Clock, Journal, Model, Question
from pytest_noepicycle.supervisor.resuming import Heard, digest

SHORTEST_ANSWER = 512
"""Tokens below which an answer cannot hold a patch: rather than ask for less, a call is not made."""

RETRIES = 3
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0
# The server turned the request away before a model saw it, or was never reached; such requests are not billed.
_TURNED_AWAY = frozenset(
    {"auth", "unknown_model", "too_large", "rate_limited", "overloaded", "bad_request", "never_connected"}
)


class BudgetExhausted(NoepiError):
    """The worst case of the next call does not fit what is left of the budget; it was not made."""

    hint = "Raise --noepi-budget (or --noepi-budget-usd), or select fewer failing tests."


class BudgetOverrun(NoepiError):
    """A server reported more than was set aside for the call; it is recorded, and nothing more is asked."""

    hint = "The server's usage figures cannot be trusted, or the rung's price is wrong; see decisions.jsonl."


@dataclass(frozen=True, slots=True)
class _Call:
    """One reservation, and the question cut to it."""

    name: str
    question: Question
    tokens: int
    usd: float | None


class Purse:
    """Holds the ledger of a run while it changes; safe to share between threads."""

    def __init__(
        self,
        ledger: Ledger,
        journal: Journal,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        heard: Heard | None = None,
        keep_content: bool = True,
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._heard = heard or Heard()
        self._keep_content = keep_content
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()

    @property
    def ledger(self) -> Ledger:
        """Return the ledger as it is now."""
        return self._ledger

    def ask(self, model: Model, question: Question, *, rung: Rung, purpose: str, seconds: float) -> Answer:
        """Ask within the budget and within ``seconds``, waits and retries included; each retry is a new call.

        :raises BudgetExhausted: where not even a short answer fits; nothing was sent.
        :raises BudgetOverrun: where the answer took more than was set aside for it.
        :raises ProviderError: where no answer came.
        """
        known = self._heard.take(rung.name, purpose)
        if known is not None:
            self._journal.write("answer_used_again", rung=rung.name, purpose=purpose, usage=encode(known.usage))
            return known
        until, tried = self._clock() + seconds, 0
        while True:
            left = until - self._clock()
            if left <= 0:
                raise ProviderError(f"{rung.name}: there was no time left to ask", kind="timeout")
            call = self._reserve(model, question, rung, purpose)
            try:
                return self._settle(call, rung, model.ask(call.question, seconds=left))
            except ProviderError as error:
                self._book_failure(call, rung, error)
                wait = _wait(error, tried)
                if not error.retryable or tried == RETRIES or self._clock() + wait >= until:
                    raise
            except BudgetOverrun:
                raise
            except BaseException as error:
                # Whoever interrupts a call does not know whether it was answered: it stays charged.
                self._lose(call, rung, type(error).__name__, "interrupted while the call was in flight")
                raise
            tried += 1
            self._sleep(wait)

    def charge(self, rung: Rung, purpose: str, usage: Usage) -> None:
        """Book what was spent elsewhere, after the fact; what is above all that was left is an overrun."""
        usd = usage.cost(rung.price)
        with self._lock:
            ledger = self._ledger
            aside, dollars = min(usage.total, ledger.left), usd
            if usd is not None and ledger.cap_usd is not None:
                dollars = min(usd, max(0.0, ledger.cap_usd - (ledger.spent_usd or 0.0)))
            name = f"{rung.name}#{len(ledger.entries) + 1}"
            # Not asked whether it fits: it is spent, and the last digit of a sum of dollars may be above the cap.
            self._ledger = replace(ledger, entries=(*ledger.entries, Entry(name, rung.name, purpose, aside, dollars)))
            self._journal.write(
                "call_reserved", call=name, rung=rung.name, model=rung.model, purpose=purpose, tokens=aside, usd=dollars
            )
        outgrew = usage.total > aside or (usd or 0.0) > (dollars or 0.0) * (1 + 1e-9)
        self._settled(name, rung, usage, usd, end=purpose, outgrew=outgrew)

    def _reserve(self, model: Model, question: Question, rung: Rung, purpose: str) -> _Call:
        with self._lock:
            ledger, bound = self._ledger, model.input_bound(question)
            if ledger.overrun:
                raise BudgetOverrun("an earlier call took more than was set aside for it")
            output = _room(ledger, bound, question.max_output, rung)
            tokens, usd = bound + output, worst_case(rung.price, bound, output)
            name = f"{rung.name}#{len(ledger.entries) + 1}"
            self._journal.write(
                "call_reserved",
                **self._content(question=_texts(question)),
                call=name,
                rung=rung.name,
                model=rung.model,
                purpose=purpose,
                tokens=tokens,
                usd=usd,
                input_bound=bound,
                max_output=output,
            )
            self._ledger = ledger.reserve(Entry(name, rung.name, purpose, tokens, usd))
        return _Call(name, replace(question, max_output=output), tokens, usd)

    def _settle(self, call: _Call, rung: Rung, answer: Answer) -> Answer:
        usage, usd = answer.usage, answer.usage.cost(rung.price)
        outgrew = Entry(call.name, rung.name, "", call.tokens, call.usd, usage, usd).outgrew
        turn = {"tool": answer.tool, "call": answer.call, "said": list(answer.said)} if answer.tool else {}
        kept = self._content(answer={"data": answer.data, "text": answer.text, **turn, "digest": digest(answer)})
        self._book(call, rung, usage, usd, end=answer.end, raw=dict(answer.raw), outgrew=outgrew, **kept)
        if outgrew:
            raise BudgetOverrun(
                f"{call.name}: the server reports {usage.total} tokens and ${usd or 0:.4f}, "
                f"{call.tokens} and ${call.usd or 0:.4f} were the most that was asked for"
            )
        return answer

    def _book_failure(self, call: _Call, rung: Rung, error: ProviderError) -> None:
        if error.kind in _TURNED_AWAY:
            self._book(call, rung, Usage(), 0.0, end=error.kind, raw={"error": str(error)})
        else:
            self._lose(call, rung, error.kind, str(error))

    def _content(self, **texts: object) -> dict[str, object]:
        """Return prompts and answers for the journal, or nothing where they are to be left out."""
        return texts if self._keep_content else {}

    def _book(self, call: _Call, rung: Rung, usage: Usage, usd: float | None, *, end: str, **more: Any) -> None:
        self._settled(call.name, rung, usage, usd, end=end, **more)

    def _settled(self, name: str, rung: Rung, usage: Usage, usd: float | None, *, end: str, **more: Any) -> None:
        with self._lock:
            self._ledger = self._ledger.settle(name, usage, usd)
            self._journal.write(
                "call_settled",
                call=name,
                rung=rung.name,
                usage=encode(usage),
                usd=usd,
                end=end,
                **more,
            )

    def _lose(self, call: _Call, rung: Rung, kind: str, why: str) -> None:
        with self._lock:
            self._ledger = self._ledger.lose(call.name)
            self._journal.write(
                "call_lost", call=call.name, rung=rung.name, kind=kind, why=why, tokens=call.tokens, usd=call.usd
            )


def worst_case(price: Price | None, input_tokens: int, output_tokens: int) -> float | None:
    """Return the most dollars that a call can cost, every input token at its dearest; None for an unknown price."""
    if price is None:
        return None
    dearest = max(price.input, price.cache_write, price.cache_read)
    return (input_tokens * dearest + output_tokens * price.output) / 1e6


def _room(ledger: Ledger, bound: int, wanted: int, rung: Rung) -> int:
    """Return how long an answer may be, ``wanted`` or less.

    :raises BudgetExhausted: where less than a usable answer fits.
    """
    if ledger.cap_usd is not None and rung.price is None:
        raise BudgetExhausted(
            f"{rung.name}: there is a cap on money, and the price of {rung.model!r} is not known",
            hint="Add to the rung: price: {input: 3.00, output: 15.00}  # USD per million tokens",
        )
    output = min(wanted, ledger.left - bound, _affordable(ledger, bound, rung.price))
    while output > 0 and not ledger.fits(bound + output, worst_case(rung.price, bound, output)):
        output -= 1  # the last digit of a sum of dollars
    if output < min(wanted, SHORTEST_ANSWER):
        raise BudgetExhausted(_too_little(ledger, bound, rung))
    return output


def _affordable(ledger: Ledger, bound: int, price: Price | None) -> int:
    """Return how many tokens of answer the money that is left can buy, as good as endless without a cap."""
    if ledger.cap_usd is None or price is None:
        return ledger.cap
    if not ledger.fits(0, worst_case(price, bound, 0)):
        return 0
    left = ledger.cap_usd - (ledger.spent_usd or 0.0) - (worst_case(price, bound, 0) or 0.0)
    return int(min(ledger.cap, left * 1e6 / price.output)) if price.output else ledger.cap


def _too_little(ledger: Ledger, bound: int, rung: Rung) -> str:
    needed = bound + SHORTEST_ANSWER
    money = ""
    if ledger.cap_usd is not None:
        cost = worst_case(rung.price, bound, SHORTEST_ANSWER) or 0.0
        money = f" and up to ${cost:.4f} of ${max(0.0, ledger.cap_usd - (ledger.spent_usd or 0.0)):.4f}"
    return f"{rung.name}: the next call may take {needed} tokens of the {ledger.left} that are left{money}"


def _texts(question: Question) -> dict[str, str]:
    """Return what a question says; of a conversation what came last, for the calls before tell the rest."""
    texts = {"system": question.system, "stable": question.stable, "prompt": question.prompt}
    return {**texts, "result": question.turns[-1].result} if question.turns else texts


def _wait(error: ProviderError, tried: int) -> float:
    """Return the seconds to wait: what the server asks for, else a back-off that doubles."""
    asked = error.retry_after
    return asked if asked is not None else min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**tried)
