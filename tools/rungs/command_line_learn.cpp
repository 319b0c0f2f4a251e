// The commands for those who learn and teach: list, start, check, run and grade, what helps along, and a class.
#include <fmt/format.h>

#include "command_line.hpp"
#include "completion.hpp"
#include "rungs/base/error.hpp"
#include "workspace.hpp"

namespace rungs {

static constexpr const char* or_last = "its number, name or file; without it, the lesson whose file was saved last";

/// What may follow these words, a line each; nothing where the name of a file may.
static int print_completions(CommandLine& line) {
  CLI::App* command = &line.app;
  CLI::Option* before = nullptr;  // an option whose value comes next
  for (const std::string& word : line.completion_words) {
    before = nullptr;
    const auto named = command->get_subcommands([&](CLI::App* c) { return c->get_name() == word; });
    if (!named.empty())
      command = named[0];
    else if (word.starts_with("--"))
      before = command->get_option_no_throw(word);
  }
  if (before && before->get_items_expected_max() > 0) return 0;
  for (const CLI::App* next : command->get_subcommands([](CLI::App*) { return true; }))
    fmt::print("{}\n", next->get_name());
  for (const CLI::Option* option : command->get_options()) {
    if (option->get_name().starts_with("LESSON"))
      for (const std::string& number : lesson_numbers()) fmt::print("{}\n", number);
    for (const std::string& name : option->get_lnames()) fmt::print("--{}\n", name);
  }
  return 0;
}

static int complete(CommandLine& line) {
  if (line.shell == "words") return print_completions(line);
  fmt::print("{}", completion_script(line.shell));
  return 0;
}

void add_class(CommandLine& line, CLI::App* grade) {
  GradeOptions& g = line.grade;
  CLI::Option* submissions =
      grade->add_option("--submissions", g.submissions, "grade a class: a folder of files, folders and archives")
          ->type_name("DIR");
  CLI::Option* out =
      grade->add_option("--out", g.out, "the folder for its report; run again, it goes on where it stopped")
          ->type_name("REPORT")
          ->needs(submissions);
  submissions->needs(out);
  grade->add_option("--cases", g.cases, "grade on other cases, which `rungs cases new` has written")->type_name("DIR");
  grade->add_option("--lesson", g.lessons, "of the class, like LESSONS")->type_name("NN")->allow_extra_args(false);
  grade->add_option("--jobs", g.jobs, "submissions at a time; 0: one for each processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->needs(submissions);
  grade->add_option("--draw-seed", g.draw_seed, "draw the same inputs as an earlier run; 0: any")
      ->capture_default_str()
      ->needs(submissions);
  grade->add_flag("--without-walls", g.without_walls, "where bubblewrap gives none: submissions can delete your files")
      ->needs(submissions);
  grade
      ->add_option_function<std::vector<std::string>>(
          "--junit",
          [&g](const std::vector<std::string>& file) {
            g.junit = true;
            if (!file.empty()) g.junit_file = file[0];
          },
          "a report in JUnit's XML, too: with --submissions in REPORT, else into FILE")
      ->expected(0, 1)
      ->type_name("[FILE]");
}

void add_teaching(CommandLine& line) {
  HandoutCommand& h = line.handout;
  CLI::App* handout = add_command(line, line.app, "Teach", "handout", "write the lessons without their solutions",
                                  [&h] { return write_handout(h); });
  handout->add_option("DIR", h.out, "the folder to write, which must be empty or not there")->required();
  handout->add_option("--lessons", h.lessons, "these alone: 01-05,14")->type_name("NN-NN")->capture_default_str();

  CLI::App* cases = line.app.add_subcommand("cases", "cases that learners have not seen")->group("Teach");
  cases->require_subcommand(1);
  CasesCommand& c = line.cases;
  CLI::App* fresh = add_command(line, *cases, "", "new", "make cases of other numbers and other shapes, with PyTorch",
                                [&c] { return new_cases(c); });
  fresh->add_option("--seed", c.seed, "others than those of another seed")->required()->check(CLI::Range(0, 1 << 30));
  fresh->add_option("--out", c.out, "the folder to write, which must be empty or not there")
      ->required()
      ->type_name("DIR");
  fresh->add_option("--lessons", c.lessons, "of these alone: 01-05,07")->type_name("NN-NN")->capture_default_str();
}

void add_learning_aids(CommandLine& line) {
  const auto add = [&](const char* name, const char* says, std::function<int()> does) {
    return add_command(line, line.app, "Learn", name, says, std::move(does));
  };
  CLI::App* watch = add("watch", "check your file whenever it is saved; a key gives a hint, the page, the next lesson",
                        [&line] { return watch_lesson(line.stretch ? stretch_word(line.lesson) : line.lesson); });
  watch->add_option("LESSON", line.lesson, or_last);
  watch->add_flag("--stretch", line.stretch, stretch_help);
  CLI::App* hint = add("hint", "the next of the page's hints", [&line] { return hint_lesson(line.hint); });
  hint->add_option("LESSON", line.hint.lesson, or_last);
  hint->add_flag("--all", line.hint.all, "every hint");
  CLI::App* read =
      add("read", "the page of a lesson, in the browser or here", [&line] { return read_lesson(line.read); });
  read->add_option("LESSON", line.read.lesson, or_last);
  read->add_flag("--terminal", line.read.in_terminal, "here, also where there is a browser");
  read->add_option("--html", line.read.html, "write it as one page for a browser, which needs no site")
      ->type_name("FILE");
  add("progress", "how far you are, and what is next", [&line] {
    return show_progress(line.list_as_json);
  })->add_flag("--json", line.list_as_json, "for scripts");
  CLI::App* completion = add("completion", "what a shell reads to complete words: source <(./rungs completion bash)",
                             [&line] { return complete(line); });
  completion->add_option("SHELL", line.shell, "bash or zsh; words: what may follow WORDS")->required();
  completion->add_option("WORDS", line.completion_words, "those that are there already");
}

void add_show(CommandLine& line) {
  ShowCommand& s = line.show;
  CLI::App* show = add_command(line, line.app, "Learn", "show", "draw a lesson, a model, or where your answer is wrong",
                               [&s] { return rungs::show(s); });
  CLI::Option* lesson = show->add_option("LESSON", s.lesson, "its number (6, 06), its name, or the beginning of that");
  show->add_option("--model", s.model, "a whole model instead: a directory, a .bin of llama2.c, or a .gguf")
      ->type_name("PATH")
      ->excludes(lesson);
  show->add_option("--tokenizer", s.tokenizer, "its file or directory, where it does not lie with the model")
      ->type_name("PATH");
  show->add_option("--text", s.text, "what goes in");
  CLI::Option* mine = show->add_flag("--mine", s.mine, "draw from your code, not from the solution");
  show->add_flag("--diff", s.diff, "the case that fails: yours, the reference, and the difference")->excludes(mine);
  show->add_option("--tap", s.tap, "with --diff: this tensor, not the first that differs")->type_name("NAME");
  show->add_option("--html", s.html, "write a page for a browser")->type_name("FILE");
  show->add_flag("--fragment", s.fragment, "of the page only what goes into another one")->group("");
  show->add_flag("--json", s.json, "the numbers, for scripts");
}

void add_learning(CommandLine& line) {
  const auto add = [&](const char* name, const char* says, std::function<int()> does) {
    return add_command(line, line.app, "Learn", name, says, std::move(does));
  };
  const auto add_lesson = [&](const char* name, const char* says, int (*does)(const std::string&)) {
    add(name, says, [&line, does] { return does(line.lesson); })
        ->add_option("LESSON", line.lesson, "its number (6, 06), its name, or the beginning of that")
        ->required();
  };
  add("list", "the lessons, what each adds, and how far you are", [&line] {
    return list_lessons(line.list_as_json);
  })->add_flag("--json", line.list_as_json, "for scripts");
  CLI::App* start = add("start", "put the lesson's file into work/, for you to write", [&line] {
    return start_lesson(line.stretch ? stretch_word(line.lesson) : line.lesson, line.blank);
  });
  start->add_option("LESSON", line.lesson, "its number (6, 06), its name, or the beginning of that")->required();
  start->add_flag("--blank", line.blank, "of the functions to write, the signatures alone");
  start->add_flag("--stretch", line.stretch, stretch_help);
  CLI::App* check = add("check", "build and grade your file of a lesson", [&line] {
    if (line.stretch) line.check.lesson = stretch_word(line.check.lesson);
    return check_lesson(line.check);
  });
  check->add_option("LESSON", line.check.lesson,
                    "its number, name or file; without it, the lesson whose file was saved last");
  check->add_flag("--stretch", line.stretch, stretch_help);
  check
      ->add_option("--on", line.check.on,
                   "where kernels run: on the emulator and its checker, or what nvcc makes of them, as PTX on this "
                   "processor or on a GPU")
      ->check(CLI::IsMember({"emulator", "ptx", "gpu"}))
      ->capture_default_str();
  CLI::App* run =
      add("run", "run a lesson's program, on your code where it passed", [&line] { return run_lesson(line.run); });
  run->add_option("LESSON", line.run.lesson, "its number (6, 06), its name, or the beginning of that")->required();
  CLI::Option* mine = run->add_flag("--mine", line.run.mine, "on your file, passed or not");
  run->add_flag("--solution", line.run.solution, "on the solution")->excludes(mine);
  run->add_option("--text", line.run.text, "what goes in, in place of the program's own text");
  run->add_option("--on", line.run.on, "where your kernels run: on the emulator or a GPU")
      ->check(CLI::IsMember({"emulator", "gpu"}))
      ->capture_default_str();
  CLI::App* profile = add("profile", "the memory transactions of each line of your kernels",
                          [&line] { return profile_lesson(line.profile); });
  profile->add_option("LESSON", line.profile.lesson, "a lesson about CUDA, from 16 on")->required();
  CLI::Option* json = profile->add_flag("--json", line.profile.json, "for scripts");
  profile
      ->add_option("--svg", line.profile.svg,
                   "draw the lanes of one request against sectors of memory, and against banks")
      ->type_name("FILE")
      ->excludes(json);
  profile->add_option("--line", line.profile.line, "with --svg: which line, not the one that wastes most")
      ->check(CLI::PositiveNumber);
  profile->add_option("--on", line.profile.on, "count in the emulator, or measure times on a GPU, too")
      ->check(CLI::IsMember({"emulator", "gpu"}))
      ->capture_default_str();
  profile->add_flag("--solution", line.profile.solution, "of the solution, not of your file");
  profile->add_flag("--nothing-built", line.profile.nothing_built, "as it was built")->group("");
  add_lesson("reset", "put the lesson's file back as it was at the start", reset_lesson);
  CLI::App* grade = add("grade", "grade every lesson", [&line] { return grade_lessons(line.grade); });
  grade->add_option("LESSONS", line.grade.lessons, "only these");
  grade->add_option("--suite", line.grade.suite, "only this suite: evaluate or kv_evaluate")
      ->check(CLI::IsMember({"evaluate", "kv_evaluate"}));
  grade->add_flag("--strength", line.grade.strength, "grade the suites: every known mistake must fail");
  grade->add_flag("--naming", line.grade.naming, "grade the names: what is said of versions written freely");
  grade->add_flag("--json", line.grade.json, "for scripts");
  add_class(line, grade);
}

}  // namespace rungs
