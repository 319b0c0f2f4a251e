/// What `rungs show` draws of each lesson.
#pragma once

#include <memory>

#include "rungs/model/config.hpp"
#include "show.hpp"

namespace rungs {

/// A lesson while it is drawn: its code, ready to run, and the drawing so far.
struct LessonScene {
  LessonScene(const ShowCommand& shown, Lesson& of);

  /// The ids of the text.  (T) i32
  ConstTensor tokens() const;
  /// Runs the lesson's decoder on the whole text in one call.
  void run_model();
  /// Adds a section to the drawing.
  void add(const std::string& heading, const std::string& says, std::vector<Picture> pictures);

  const ShowCommand& command;
  Lesson& lesson;
  Candidate candidate;
  LessonRun run;
  std::string model;  ///< under weights/; "": the lesson runs none, and what follows is empty
  Config config = {};
  std::unique_ptr<Tokenizer> tokenizer = nullptr;
  ShownText text = {};
  Drawing drawing = {};
};

/// A number as an input of a case.
ConstTensor scalar_of(double value);

/// \name Painters, by what they show
///@{
void show_embeddings(LessonScene& scene);  ///< 02: the rows of the table in two dimensions
void show_norms(LessonScene& scene);       ///< 03, 12: rows before and after
void show_units(LessonScene& scene);       ///< 04: which fire
void show_attention(LessonScene& scene);   ///< 05, 06, 09, 10: heat maps
void show_sampling(LessonScene& scene);    ///< 07: bars of the next token
void show_cache(LessonScene& scene);       ///< 08: work and time with and without
void show_rotations(LessonScene& scene);   ///< 11: pairs that turn, scores by distance
void show_gates(LessonScene& scene);       ///< 13: gate, up, hidden
void show_merges(LessonScene& scene);      ///< 14: trees
void show_fragments(LessonScene& scene);   ///< 21: which lane holds what
///@}

}  // namespace rungs
