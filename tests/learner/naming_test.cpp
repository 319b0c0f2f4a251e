// What the grader says of lessons that were not made from its list of known mistakes.
#include "contains.hpp"
#include "learner/lessons.hpp"
#include "rungs/base/text.hpp"
#include "support.hpp"

using namespace rungs;
using namespace rungs::test;

namespace {

/// What must be said of one version: nothing when it is right, the mistake when it is known, no name otherwise.
struct Expected {
  const char* version;
  std::string named = "";
};

std::string names(const Diagnosis& d) {
  std::vector<std::string> list;
  for (const KnownMistake* m : d.named) list.push_back(m->name);
  return join(list) + (d.tap.empty() ? "" : " by its " + d.tap);
}

void check(const char* lesson, const char* program_name, const std::vector<Expected>& all) {
  const Lesson& l = lesson_called(lesson);
  MistakeAnswers mistakes(l);
  int named = 0, known = 0;
  for (const Expected& e : all) {
    const std::string version = e.version;
    const Grade g = grade(l, Suite::evaluate, {program(program_name), version, version, {}, nullptr, &mistakes});
    const std::string got = names(g.diagnosis);
    INFO(lesson, " ", version, ": ", g.passed, " of ", g.cases.size(), ", named: ", got, "\n", g.story);
    CHECK(g.all_passed() == version.starts_with("Right"));
    if (version.starts_with("Known")) ++known, named += !got.empty();
    CHECK(got == e.named);
  }
  MESSAGE(lesson, ": ", named, " of ", known, " rewritten known mistakes are named");
}

}  // namespace

TEST_SUITE_BEGIN("naming");

TEST_CASE("lesson 03 in other words") {
  check("03_layer_norm", "03_versions",
        {{"Right"},
         {"RightTwoPasses"},
         {"KnownSample", "variance_over_n_minus_1"},
         {"KnownEpsilonOutside", "epsilon_outside_the_root"},
         {"KnownBiasForgotten", "no_bias"},
         {"KnownByVariance", "divided_by_the_variance"},
         {"KnownOnePlus", "one_plus_weight"},
         {"FreeDistance"},
         {"KnownWeightSwapped", "weight_and_bias_swapped"},
         {"FreeFixedEpsilon"},
         {"FreeDifferenceOfSquares"}});
}

TEST_CASE("lesson 04 in other words") {
  check("04_feed_forward", "04_versions",
        {{"Right"},
         {"KnownPositive", "absolute_value"},
         {"KnownMinimum", "relu_turned_round"},
         {"KnownReplaced", "no_residual"},
         {"KnownOnTheNorm", "residual_of_the_norm"},
         {"FreeSmooth"},
         {"FreeCapped"},
         {"FreeHalf"},
         {"FreeSubtracted"}});
}

TEST_CASE("lesson 05 in other words") {
  check("05_attention", "05_versions",
        {{"Right"},
         {"RightLogSumExp"},
         {"RightInDouble"},
         {"RightDividedLast"},
         {"KnownOverflow", "no_maximum"},
         {"KnownColumns", "over_the_queries"},
         {"KnownWholeMatrix", "over_everything"},
         {"KnownOnlyExponentials", "not_divided"},
         {"KnownLogarithms", "log_softmax"},
         {"KnownUnscaled", "no_scale"},
         {"KnownOverD", "scale_by_D"},
         {"KnownOverRootOfKeys", "scale_by_S"},
         {"KnownTimesRoot", "multiplied_by_the_scale"},
         {"KnownKeysMixed", "keys_used_as_values"},
         {"KnownNoSoftmax", "no_softmax"},
         {"KnownPlacesChanged", "queries_and_keys_swapped"},
         {"KnownValuesOfKeys", "values_from_the_keys_weights"},
         {"KnownOutputBiasForgotten", "no_output_bias"},
         {"FreeBaseTwo"},
         {"FreeSumOfTheLastRow", "sum_not_reset"},
         {"FreeLastElementForgotten"},
         {"FreeDividedByTheMaximum"},
         {"FreeSumOfOneMore"},
         {"FreeTemperature"},
         {"FreeEightForever"},
         {"FreeMaskTooEarly"},
         {"FreeWeightsTurned"},
         {"FreeNearest"},
         {"FreeResidualInside"},
         {"FreeQueriesOfValues"},
         {"FreeHalfUnwritten"},
         // Two known mistakes: the first shows in a tap, and is named by that.
         {"FreeTwoMistakes", "no_scale by its scores"}});
}

TEST_CASE("lesson 06 in other words") {
  check("06_causal_mask", "06_versions",
        {{"RightMinusBillion"},
         {"RightOnlyThePast"},
         {"RightOneKeyAtATime"},
         {"RightScaledQueries"},
         {"RightMaskedTap"},
         {"KnownNoMask", "no_mask"},
         {"KnownBlindToItself", "mask_hides_itself"},
         {"KnownBlindToItselfBillion", "mask_hides_itself_finite"},
         {"KnownSeesNext", "mask_shows_next"},
         {"KnownUpperTriangle", "mask_transposed"},
         {"KnownTimesZero", "masked_is_zero"},
         {"KnownWeightsCut", "mask_after_softmax"},
         {"KnownNoSoftmax", "no_softmax"},
         {"KnownRawStream", "attention_of_the_raw_stream"},
         {"KnownOneNormForBoth", "wrong_norm"},
         {"KnownNoResidual", "stream_replaced"},
         {"KnownForgotten", "attention_not_added"},
         {"KnownFeedForwardLeftOut", "no_feed_forward"},
         {"KnownFinalNormLeftOut", "no_final_norm"},
         {"FreeMinusTen"},
         {"FreeSeesTwoAhead"},
         {"FreeOnlyItself"},
         {"FreeWindow"},
         {"FreeFirstKeyHidden"},
         {"FreeFlipped"},
         {"FreeAverage"},
         {"FreeMaximumOfTheFuture"},
         {"FreeSoftmaxTwice"},
         {"FreeScaledTwice"},
         {"FreeSumCarriedOver"},
         {"FreeAddedTwice"},
         {"FreePositionsFromOne"},
         {"FreeLastLayerLeftOut"},
         {"FreeTwoMistakes", "no_mask by its weights"}});
}

TEST_CASE("lesson 09 in other words") {
  check("09_multi_head", "09_versions",
        {{"Right"},
         {"RightLessonEight"},
         {"KnownScaleOfTheModel", "scale_by_the_whole_width"},
         {"KnownScaleOfTheHeads", "scale_by_the_heads"},
         {"KnownUnscaled", "no_scale"},
         {"KnownStridedMerge", "merged_dims_before_heads"},
         {"KnownStridedSplit", "split_dims_before_heads"},
         {"KnownTransposedView", "split_heads_before_tokens"},
         {"KnownOneSoftmax", "one_softmax_over_all_heads"},
         {"KnownFirstHeadsKeys", "keys_of_head_0"},
         {"KnownWholeRows", "scores_of_the_whole_row"},
         {"KnownHeadAfterHead", "out_head_after_head"},
         {"FreeHeadsReversed"},
         {"FreeNextHeadsValues"},
         {"FreeAverage"}});
}

TEST_CASE("lesson 11 in other words") {
  check("11_rope", "11_versions",
        {{"Right"},
         {"RightRotateHalf"},
         {"KnownNeighbours", "interleaved_pairs"},
         {"KnownConjugate", "turned_backwards"},
         {"KnownTwoPluses", "no_minus"},
         {"KnownInPlace", "overwritten_too_early"},
         {"KnownFromZero", "position_restarts"},
         {"KnownStartForAll", "one_position_a_call"},
         {"KnownOneLate", "one_position_late"},
         {"KnownAllThree", "values_rotated"},
         {"KnownOnlyKeys", "queries_not_rotated"},
         {"KnownHalfExponent", "exponent_i_over_D"},
         {"KnownNoMinusInTheExponent", "exponent_of_the_other_sign"},
         {"KnownDegrees", "angle_in_degrees"},
         {"KnownFixedTheta", "theta_by_heart"},
         {"KnownHalfTheHead", "second_half_left"},
         {"FreeMirroredPairs"},
         {"FreeTwiceFromZero"}});
}

TEST_SUITE_END();
