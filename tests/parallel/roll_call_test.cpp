#include "rungs/parallel/roll_call.hpp"

#include <doctest/doctest.h>

#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

TEST_SUITE_BEGIN("parallel");

TEST_CASE("a roll call names the rank that was silent for longest, of those that have not gone on") {
  const Folder folder;
  RollCall first(folder / "ranks", 0, 3), second(folder / "ranks", 1, 3), third(folder / "ranks", 2, 3);
  const auto awaited = [&] {
    first.answer(RollCall::begins);
    return first.look(RollCall::begins).value();
  };
  CHECK(awaited().rank == 1);  // neither has come
  CHECK(!awaited().has_come);
  second.answer(RollCall::begins);
  for (int turn = 0; turn < 5; ++turn) second.answer(RollCall::begins), awaited();
  CHECK(awaited().rank == 2);
  CHECK(!awaited().has_come);
  third.answer(RollCall::begins);  // and then no more
  for (int turn = 0; turn < 9; ++turn) second.answer(RollCall::begins), awaited();
  second.answer(RollCall::begins);
  const RollCall::Awaited stopped = awaited();
  CHECK(stopped.rank == 2);
  CHECK(stopped.has_come);
  CHECK(stopped.turns == 9);
  third.answer(RollCall::works);
  CHECK(awaited().rank == 1);
  second.answer(RollCall::works);
  first.answer(RollCall::begins);
  CHECK(!first.look(RollCall::begins));

  CHECK(first.look(RollCall::ends).value().rank == 2);  // both are at work still, this one for longer
  CHECK(!first.look(RollCall::ends)->has_come);
  for (RollCall* rank : {&second, &third}) rank->answer(RollCall::has_ended);
  CHECK(!first.look(RollCall::ends));
}

TEST_CASE("a roll call in a folder that is not there is a FileError") {
  const Folder folder;
  CHECK_THROWS_AS(RollCall(folder / "none" / "ranks", 0, 2), FileError);
}

TEST_SUITE_END();
