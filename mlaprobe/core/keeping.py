"""What is kept in a process, safe for threads: a thing that is made once, and what belongs to an
object while it lives."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mlaprobe.core.caches import Cache, cache

T = TypeVar("T")


class Once(Generic[T]):
    """Makes a thing on its first use, once, however many threads use it at once. A failed attempt
    is not remembered: the next call tries again."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T, ...] = ()
        self.__doc__ = make.__doc__

    def __call__(self) -> T:
        made = self._made  # read once: another thread may empty it
        return made[0] if made else self._first()

    def _first(self) -> T:
        with self._lock:
            if not self._made:
                self._made = (self._make(),)
            return self._made[0]

    def cache_clear(self) -> None:
        """Forgets what was made, so that it is made anew."""
        with self._lock:
            self._made = ()


class Kept(Generic[T]):
    """What is kept of one object, and the proof that it is of that one: an ``id`` is used again
    once its object is gone."""

    __slots__ = ("__weakref__", "owner", "value")

    def __init__(self, owner: Callable[[], object], value: T) -> None:
        self.owner = owner
        self.value = value


class Keeper(Generic[T]):
    """Keeps one thing for each object while that lives. By identity, as objects need not be
    hashable. Of an object that cannot be referred to weakly nothing is kept."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.kept: dict[int, Kept[T]] = cache(Cache.PLANS)
        """By ``id``; a reader has to check the owner."""

    def of(self, owner: object) -> T:
        """What is kept for an object."""
        found = self.kept.get(id(owner))
        if found is not None and found.owner() is owner:
            return found.value
        return self._keep(owner)

    def _keep(self, owner: object) -> T:
        key = id(owner)

        # Runs wherever the object happens to go, also inside the lock: so without it. Another's
        # place is left alone.
        def gone(reference: object) -> None:
            held = self.kept.get(key)
            if held is not None and held.owner is reference:
                self.kept.pop(key, None)

        try:
            reference = weakref.ref(owner, gone)
        except TypeError:
            return self._make(owner)
        with self._lock:
            found = self.kept.get(key)
            if found is None or found.owner() is not owner:
                found = self.kept[key] = Kept(reference, self._make(owner))
            return found.value


class Memo(Generic[T]):
    """Answers by their question, of which a bounded number is kept. Reading is one look-up; of
    threads that put an answer to one question at once, all get the first."""

    __slots__ = ("_limit", "_lock", "answers")

    def __init__(self, name: Cache, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self.answers: dict[Any, T] = cache(name)

    def of(self, question: Any, make: Callable[[], T]) -> T:
        """The answer to a question, made where there is none."""
        known = self.answers.get(question)
        return self.put(question, make()) if known is None else known

    def put(self, question: Any, answer: T) -> T:
        """Keeps an answer, and returns the one that is kept."""
        with self._lock:
            known = self.answers.get(question)
            if known is not None:
                return known
            if len(self.answers) >= self._limit:
                self.answers.clear()
            self.answers[question] = answer
            return answer


class Topics:
    """Topics of warnings that are given once per process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def first(self, topic: str) -> bool:
        """Whether a topic comes up for the first time; so for one thread only."""
        with self._lock:
            new = topic not in self._said
            self._said.add(topic)
            return new
