/// The lessons of a build: what they are called, what they add, where their files and programs are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rungs {

/// A wrong version that people really write, from mistakes.toml.
struct KnownMistake {
  std::string name, says;
  std::string read;   ///< the heading of the walkthrough that explains it
  std::string shows;  ///< "output", "error", "work", "unstable" or "checker": a fault inside a kernel
};

/// One lesson of the build.
struct Lesson {
  std::string name;   ///< "06_causal_mask"
  std::string title;  ///< from the first line of lesson.hpp: "no token sees the future"
  std::vector<std::string> builds_on;
  std::string ending;                ///< of what the learner writes: ".cpp", or ".cu" in a lesson about kernels
  std::filesystem::path source;      ///< lessons/06_causal_mask
  std::filesystem::path page;        ///< its walkthrough.md; of a stretch that of its lesson
  std::filesystem::path solution;    ///< lessons/06_causal_mask/solution.cpp; not in a course's handout
  std::filesystem::path mine;        ///< work/06_causal_mask.cpp, which need not exist
  std::filesystem::path starter;     ///< generated
  std::filesystem::path references;  ///< weights/references/06_causal_mask
  std::filesystem::path recorded;    ///< in a handout: what its known mistakes answer, for MistakeAnswers
  std::filesystem::path solution_runner, mine_runner, mistakes_runner, program;
  std::vector<KnownMistake> mistakes;

  /// "06"; of a short lesson between two others "08b".
  std::string short_name() const { return name.substr(0, name.find('_')); }
  bool is_between() const { return short_name().size() > 2; }
  /// One that a learner may write after the lesson of its number, and that counts nowhere: "07s_min_p".
  bool is_stretch() const { return short_name().ends_with('s'); }
  int number() const { return std::stoi(name); }  ///< of one between two others the number of that before it
  bool has_kernels() const { return ending == ".cu"; }
  bool has_solution() const;  ///< false in a course's handout, which has no code of a known mistake either
  bool has_cache() const;     ///< kv_evaluate applies: there are cases named NN_prompt_...
};

/// Where learners' files are: work/ of the source tree, or the folder that the environment variable RUNGS_WORK names.
std::filesystem::path work_directory(const std::filesystem::path& source);

/// All lessons, in order, without stretches. `source` is the source tree, `build` the build tree. \throws FileError
std::vector<Lesson> find_lessons(const std::filesystem::path& source, const std::filesystem::path& build);

/// The stretches alone; a course's handout has none. \throws FileError
std::vector<Lesson> find_stretches(const std::filesystem::path& source, const std::filesystem::path& build);

}  // namespace rungs
