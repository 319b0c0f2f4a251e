/// What the commands `rungs bench ...` share: prompts, curves without and with the cache, and the report with its
/// pictures.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "commands.hpp"
#include "rungs/measure/plot.hpp"
#include "rungs/model/cache.hpp"

namespace rungs {

/// What the tokens are does not change how long they take; none is the stop token, because there is none.
std::vector<int32_t> any_prompt(int64_t length, int64_t vocabulary);

/// The smallest of the values that `share` of them do not exceed; 0 of none.
double percentile(std::vector<double> values, double share);

/// A contiguous cache with numbers in every place: pages that nobody wrote would all be one page, which the processor's
/// caches hold.
KvCache filled_cache(Device& device, const Config& config, int64_t sequences, int64_t capacity, DType dtype);

/// Two curves over the same x. Points of NaN are left out.
Panel without_and_with(const std::string& title, const std::string& x_label, const std::string& y_label,
                       const std::vector<double>& x, const std::vector<double>& without,
                       const std::vector<double>& with);

/// The beginning of a report: command, machine, model and backend. A path within the source tree is written from there.
nlohmann::ordered_json begin_report(const std::string& command, const std::string& model, const DeviceChoice& device);
std::string shown_path(const std::filesystem::path& path);

/// A speed in four digits, and in all those before the point: "98.31", "14660".
std::string in_four_digits(double speed);

/// Writes the report and, where gnuplot is installed and there are panels, the pictures beside it.
void write_report(const std::filesystem::path& out, const nlohmann::ordered_json& report, const std::string& title,
                  const std::vector<Panel>& panels);

/// The panels in the terminal, and where write_report wrote what.
void show_report(const std::filesystem::path& out, const std::vector<Panel>& panels);

}  // namespace rungs
