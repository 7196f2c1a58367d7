from __future__ import annotations

import unittest

from leads_python._pool import Pool


class TurnTest(unittest.TestCase):
    def setUp(self) -> None:
        self.rung: list[str] = []
        self.pool = Pool(1)

    def ring(self, name: str) -> None:
        self.rung.append(name)

    def test_turns_come_in_the_order_of_the_line(self) -> None:
        turns = [self.pool.take_turn(lambda name=name: self.ring(name)) for name in "abc"]  # type: ignore[misc]
        self.assertEqual([turn.has_come for turn in turns], [True, False, False])
        self.pool.end_turn()
        self.pool.end_turn()
        self.assertEqual(self.rung, ["b", "c"])
        self.pool.end_turn()
        self.assertTrue(self.pool.take_turn(lambda: None).has_come)

    def test_who_leaves_the_line_is_passed_over(self) -> None:
        turns = [self.pool.take_turn(lambda name=name: self.ring(name)) for name in "abc"]  # type: ignore[misc]
        self.pool.leave(turns[1])
        self.pool.end_turn()
        self.assertEqual(self.rung, ["c"])

    def test_who_leaves_just_when_the_turn_comes_passes_it_on(self) -> None:
        turns = [self.pool.take_turn(lambda name=name: self.ring(name)) for name in "abc"]  # type: ignore[misc]
        self.pool.end_turn()
        self.pool.leave(turns[1])
        self.assertEqual(self.rung, ["b", "c"])

    def test_who_cannot_be_rung_any_more_is_passed_over(self) -> None:
        def closed() -> None:
            raise RuntimeError("Event loop is closed")

        self.pool.take_turn(lambda: None)
        self.pool.take_turn(closed)
        turn = self.pool.take_turn(lambda: self.ring("c"))
        self.pool.end_turn()
        self.assertTrue(turn.has_come)
        self.assertEqual(self.rung, ["c"])
