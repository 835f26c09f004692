// Runs that are killed, resumed, and compared with one that was left alone.
#pragma once

#include <functional>
#include <set>

#include "tests/cli/sandbox.h"

std::set<std::string> names_in(const std::filesystem::path& folder);

// All that must not depend on kills: not the times, nor what is computed from them.
nlohmann::ordered_json without_times(nlohmann::ordered_json object);

// Checks that all files of two runs are the same, apart from the times in them.
void check_same_run(const Sandbox& box, const std::string& a, const std::string& b);

// Returns when `reached`, or when the process has ended.
void wait_until(Process& process, const std::function<bool()>& reached);

// Lines of a run's metrics so far.
std::size_t lines_of(const Sandbox& box, const std::string& run);

// Whether a file of the cache whose name begins like this is being made.
bool is_caching(const Sandbox& box, const std::string& beginning);

bool is_writing_checkpoint(const Sandbox& box, const std::string& run);

// Starts the run, or goes on with it where it is one already.
std::unique_ptr<Process> go_on(const Sandbox& box, const std::string& run, const std::string& options);

// Kills the run `kills` times, each when wait_for_moment(process, run, number of the kill) returns, resumes each time,
// and compares what comes out with `straight`. A run may end before a kill reaches it: then another one is begun.
void check_kills(const Sandbox& box, const std::string& straight, int kills, const std::string& options,
                 const std::function<void(Process&, const std::string& run, int kill)>& wait_for_moment);

// Kills the run after so many lines more of its metrics, `least` and up to nine others, drawn by `seed`.
void check_kills_at_steps(const Sandbox& box, const std::string& straight, int kills, const std::string& options,
                          unsigned seed, std::size_t least = 3);
