// rungs show NN: what a lesson is about, from the taps of its code.
#include <fmt/format.h>

#include "../workspace.hpp"
#include "lesson_pictures.hpp"
#include "rungs/base/file.hpp"
#include "rungs/base/text.hpp"

namespace rungs {

namespace {

/// Who draws which lesson.
struct Painter {
  int lesson;
  void (*paint)(LessonScene&);
};
constexpr Painter painters[] = {{2, show_embeddings}, {3, show_norms},      {4, show_units},  {5, show_attention},
                                {6, show_attention},  {7, show_sampling},   {8, show_cache},  {9, show_attention},
                                {10, show_attention}, {11, show_rotations}, {12, show_norms}, {13, show_gates},
                                {14, show_merges},    {21, show_fragments}};

void (*painter_of(const Lesson& lesson))(LessonScene&) {
  std::vector<std::string> others;
  for (const Painter& p : painters) {
    if (!lesson.is_between() && p.lesson == lesson.number()) return p.paint;
    others.push_back(fmt::format("{:02}", p.lesson));
  }
  throw UsageError(
      fmt::format("lesson {} has no picture; {} have, and `./rungs show --model weights/stories` draws a whole model",
                  lesson.name, join(others)));
}

/// A lesson about kernels draws no code.
Candidate candidate_of(Lesson& lesson, const ShowCommand& command) {
  if (!lesson.has_kernels()) return built_candidate(lesson, command.mine, !command.fragment);
  if (command.mine)
    throw UsageError(
        fmt::format("{}: what is drawn is the instruction's, not your code's: leave --mine out", lesson.name));
  return {};
}

}  // namespace

LessonScene::LessonScene(const ShowCommand& shown, Lesson& of)
    : command(shown),
      lesson(of),
      candidate(candidate_of(of, shown)),
      run(candidate),
      model(of.number() < 14 ? model_of(of) : "") {
  if (model.empty()) return;
  config = load_config(weights_directory() / model);
  tokenizer = load_tokenizer(weights_directory() / model);
  text = shown_text(*tokenizer, config, shown.text.value_or(of.number() == 7 ? "Ben found a red" : usual_text));
  if (!text.left_out.empty()) drawing.notes.push_back(text.left_out);
}

ConstTensor LessonScene::tokens() const {
  return Tensor::view_of(text.ids.data(), {int64_t(text.ids.size())}, DType::i32);
}

void LessonScene::run_model() {
  NamedTensors in;
  in["tokens"] = tokens();
  if (lesson.number() < 8) return run.run("decoder_forward", model, std::move(in));
  Tensor split({1}, DType::i32);
  split.at<int32_t>(0) = int32_t(text.ids.size());
  in["split"] = std::move(split);
  run.run("prompt", model, std::move(in));
}

void LessonScene::add(const std::string& heading, const std::string& says, std::vector<Picture> pictures) {
  drawing.sections.push_back({heading, says, std::move(pictures)});
}

ConstTensor scalar_of(double value) {
  Tensor t({1}, DType::f64);
  t.data<double>()[0] = value;
  return t;
}

Drawing draw_lesson(const ShowCommand& command) {
  Lesson lesson = lesson_called(command.lesson);
  const auto paint = painter_of(lesson);
  LessonScene scene(command, lesson);
  scene.drawing.title = fmt::format("{}: {}", lesson.name, lesson.title);
  scene.drawing.drawn_from = scene.candidate.called;
  paint(scene);
  if (const std::string why = scene.run.why_it_ended(); !why.empty()) scene.drawing.notes.push_back(why + ".");
  return std::move(scene.drawing);
}

}  // namespace rungs
