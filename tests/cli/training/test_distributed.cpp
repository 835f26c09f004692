// Training under mpirun, with real processes. Skipped where Open MPI is not installed.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/random.h"
#include "nn/formats/safetensors.h"
#include "tests/cli/sandbox.h"
#include "tests/cli/training/resume_support.h"
#include "tests/largest_difference.h"

namespace fs = std::filesystem;
using namespace tapeformer;

namespace {

std::string find_mpirun() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (const fs::path mpirun = fs::path(folder) / "mpirun"; fs::exists(mpirun)) return mpirun.string();
  }
  return "";
}

// Why there is nothing to test here; empty where there is.
std::string missing() {
  if (!fs::exists(fs::path(TAPEFORMER_BINARY).parent_path() / "libtapeformer_mpi.so")) return "built without Open MPI";
  return find_mpirun().empty() ? "there is no mpirun" : "";
}

// Says so once and returns true where the test cannot run.
bool skipped() {
  const std::string reason = missing();
  if (!reason.empty()) MESSAGE("skipped: ", reason);
  return !reason.empty();
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// mpirun itself with these words, on one machine with too few cores, and as root, which a container may be.
class Job {
 public:
  explicit Job(const Sandbox& box, const std::string& words, const char* silence_s = "20", const char* kill_s = "0") {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("OMPI_MCA_odls_base_sigkill_timeout", kill_s, 1);
    ::setenv("TAPEFORMER_RANK_TIMEOUT", silence_s, 1);
    std::vector<std::string> arguments{find_mpirun(), "--oversubscribe", "--bind-to", "none"};
    for (const std::string& word : words_of(words)) arguments.push_back(word);
    process_ = std::make_unique<Process>(box / "", arguments, "");
  }
  Process& process() { return *process_; }
  Outcome wait() { return process_->wait(); }

 private:
  std::unique_ptr<Process> process_;
};

std::string train(int ranks, const std::string& options) {
  return "-n " + std::to_string(ranks) + " " + TAPEFORMER_BINARY + " train " + options;
}

Outcome run_job(const Sandbox& box, const std::string& words) { return Job(box, words).wait(); }

void check_success(const Outcome& outcome) {
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
}

// A tiny run of four micro-steps a step. Gradients that are zero but for rounding, as those of the keys' biases are,
// stay far below eps: otherwise Adam would make whole steps of their rounding.
void prepare(const Sandbox& box) {
  box.prepare_toy("gpt");
  std::string config = box.read("tiny.toml");
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"accumulate = 2", "accumulate = 4"},
                                 {"batch = 8", "batch = 2"},
                                 {"steps = 60", "steps = 16\nmatmul = \"highest\""},
                                 {"lr = 1e-2", "lr = 1e-2\neps = 1e-4"}}) {
    config.replace(config.find(from), from.size(), to);
  }
  box.write("tiny.toml", config);
}

double largest_difference(const Sandbox& box, const std::string& a, const std::string& b) {
  const auto left = read_safetensors(box / (a + "/model.safetensors")),
             right = read_safetensors(box / (b + "/model.safetensors"));
  REQUIRE(left.size() == right.size());
  double difference = 0;
  for (const auto& [name, tensor] : left) {
    difference =
        std::max(difference, ::largest_difference(tensor.to_vector<float>(), right.at(name).to_vector<float>()));
  }
  return difference;
}

// The weights and the state of two checkpoints have the same bytes.
void check_same_checkpoint(const Sandbox& box, const std::string& a, const std::string& b) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(box / a)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".safetensors")) continue;
    CAPTURE(name);
    CHECK(box.read(a + "/" + name) == box.read(b + "/" + name));
    ++files;
  }
  CHECK(files >= 3);
}

// The processes that are ranks of the job: children of mpirun.
std::vector<int> rank_processes(const Sandbox& box) {
  std::vector<int> ranks;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::error_code error;
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (fs::read_symlink(entry.path() / "exe", error) != fs::path(TAPEFORMER_BINARY) || error) continue;
    if (fs::read_symlink(entry.path() / "cwd", error) == fs::canonical(box / "") && !error) {
      ranks.push_back(std::stoi(name));
    }
  }
  return ranks;
}

void wait_for(const std::function<bool()>& ready) {
  for (int i = 0; i < 3000 && !ready(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  REQUIRE(ready());
}

// The job ends within 30 seconds, its last rank included, with these words. mpirun kills the ranks that are left, and
// does not wait until the system has ended them.
void check_fails_soon(const Sandbox& box, Job& job, const std::vector<std::string>& words) {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = job.wait();
  INFO(outcome.err);
  CHECK(outcome.exit_code != 0);
  for (const std::string& word : words) CHECK(outcome.tells(word));
  wait_for([&] { return rank_processes(box).empty(); });
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

}  // namespace

TEST_CASE("distributed: several ranks make no plan, and say so in one line") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  const Outcome outcome = run_job(box, train(2, "tiny.toml --minutes 1 --out new"));
  CHECK(outcome.exit_code == kUsage);
  CHECK(
      outcome.tells("--minutes: expected one process, got 2 ranks: plan with one, and give them the keys that "
                    "info --minutes shows\n"));
  CHECK_FALSE(box.has("new"));
}

TEST_CASE("mpirun: two and three ranks train as one process does, and write one run") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  box.train("alone");
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    const std::string name = "ranks" + std::to_string(ranks), last = "/checkpoints/step-000016";
    const Outcome outcome = run_job(box, train(ranks, "tiny.toml --out " + name));
    check_success(outcome);
    CHECK(largest_difference(box, name + last, "alone" + last) < 1e-6);
    CHECK(outcome.tells(std::to_string(ranks) + " ranks share the 4 micro-steps of a step"));
    CHECK(outcome.tells("no multiple of the ranks") == (ranks == 3));
    CHECK(outcome.err.find("parameters, vocabulary") == outcome.err.rfind("parameters, vocabulary"));  // by one rank
    CHECK(box.has(name + last + "/optimizer-00002-of-0000" + std::to_string(ranks) + ".safetensors"));
    const auto expected = box.metrics("alone"), found = box.metrics(name);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const char* const loss = found[i].contains("loss") ? "loss" : "eval_loss";
      CHECK(found[i][loss].get<double>() == doctest::Approx(expected[i][loss].get<double>()).epsilon(1e-4));
      CHECK(found[i].contains("waiting") == found[i].contains("loss"));
    }
  }
}

TEST_CASE("mpirun: two ranks train an encoder-decoder as one process does") {
  if (skipped()) return;
  const Sandbox box("transformer");
  const std::string options =  // eps as in prepare()
      "--train.steps 12 --train.accumulate 3 --optimizer.eps 1e-4 --optimizer.clip 0.5 --train.matmul highest"
      " --train.threads 1 --eval.every 6";
  box.train("alone", options);
  check_success(run_job(box, train(2, "tiny.toml --out ranks " + options)));
  CHECK(largest_difference(box, "ranks/checkpoints/step-000012", "alone/checkpoints/step-000012") < 1e-6);
  const auto expected = box.metrics("alone"), found = box.metrics("ranks");
  REQUIRE(found.size() == expected.size());
  const auto is_close = [&](std::size_t line, const char* key) {
    return found[line].at(key).get<double>() == doctest::Approx(expected[line].at(key).get<double>()).epsilon(1e-5);
  };
  REQUIRE(found.size() >= 2);
  CHECK(is_close(found.size() - 2, "eval_loss"));
  CHECK(is_close(found.size() - 1, "average_loss"));
}

TEST_CASE("mpirun: two ranks train adapters beside frozen weights as one process does") {
  if (skipped()) return;
  const Sandbox box("gpt");
  box.train("base", "--train.steps 4");
  const std::string options =
      "--train.init_from base --train.lora.rank 2 --train.steps 8 --optimizer.eps 1e-4 --train.matmul highest"
      " --train.threads 1";
  box.train("alone", options);
  check_success(run_job(box, train(2, "tiny.toml --out ranks " + options)));
  CHECK(largest_difference(box, "ranks/checkpoints/step-000008", "alone/checkpoints/step-000008") < 1e-6);
  CHECK(box.read("ranks/base.safetensors") == box.read("alone/base.safetensors"));
}

TEST_CASE("mpirun: a killed rank ends the job, and the run goes on with the bits of one that was not disturbed") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  check_success(run_job(box, train(2, "tiny.toml --out whole --train.steps 60")));
  check_success(run_job(box, train(2, "tiny.toml --out cut --train.steps 60 --train.max_minutes 0.0001")));
  RandomStream random({.seed = 3});
  for (int kill = 0; kill < 2; ++kill) {
    Job job(box, train(2, "--resume cut --train.max_minutes 0"));
    std::vector<int> ranks;
    wait_for([&] { return (ranks = rank_processes(box)).size() == 2 || !job.process().running(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random.below(500)));
    if (ranks.size() == 2) ::kill(ranks[random.below(2)], SIGKILL);
    job.wait();
  }
  check_success(run_job(box, train(2, "--resume cut --train.max_minutes 0")));
  check_same_checkpoint(box, "cut/checkpoints/step-000060", "whole/checkpoints/step-000060");
  // And by one process, for a step more: its files are those of any run.
  check_success(box.run("train --resume cut --train.steps 61"));
  CHECK(box.has("cut/checkpoints/step-000061/optimizer.safetensors"));
}

TEST_CASE("mpirun: a rank that is stopped ends the job soon, with one line about it") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  Job job(box, train(2, "tiny.toml --out run --train.steps 1000000 --checkpoint.every 1000"), "2");
  wait_for([&] { return box.has("run/metrics.jsonl") && box.metrics("run").size() > 3; });
  const std::vector<int> ranks = rank_processes(box);
  REQUIRE(ranks.size() == 2);
  ::kill(ranks[1], SIGSTOP);
  check_fails_soon(box, job, {"has been silent for 2 s (killed, stopped or cut off)"});
}

TEST_CASE("mpirun: a rank that cannot write its share of a checkpoint ends the job, and the one before it is whole") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  Job job(box, train(2, "tiny.toml --out run --train.steps 1000000 --checkpoint.every 20 --eval.every 0"));
  wait_for([&] { return box.has("run/checkpoints/step-000020"); });
  for (const int process : rank_processes(box)) {
    if (box.read("/proc/" + std::to_string(process) + "/environ").find("OMPI_COMM_WORLD_RANK=1") == std::string::npos)
      continue;
    const rlimit small{1024, 1024};
    REQUIRE(::prlimit(process, RLIMIT_FSIZE, &small, nullptr) == 0);
  }
  check_fails_soon(box, job,
                   {"tapeformer: rank 1: ", "optimizer-00002-of-00002.safetensors: cannot be written: File too large"});
  check_success(run_job(box, train(2, "--resume run --train.max_minutes 0.0001")));
}

TEST_CASE("mpirun: SIGTERM saves and stops on all ranks") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  Job job(box, train(2, "tiny.toml --out run --train.steps 1000000 --checkpoint.every 0"), "20", "2");
  wait_for([&] { return box.has("run/metrics.jsonl") && box.metrics("run").size() > 3; });
  job.process().send(SIGTERM);
  const Outcome outcome = job.wait();
  INFO(outcome.err);
  CHECK(outcome.tells("stopped at step"));
  check_success(run_job(box, train(2, "--resume run --train.steps 1000000 --train.max_minutes 0.0001")));
}

TEST_CASE("mpirun: SIGTERM while the data is prepared ends all ranks in order") {
  if (skipped()) return;
  const Sandbox box;
  // Rank 0 generates the text for much longer than the test takes.
  Job job(box, train(2, "--model.dim 16 --train.accumulate 2 --data.corpus stories --data.lines 100000000 --out run"),
          "20", "2");
  const auto catches_signal = [&](int rank) {
    const std::string status = box.read("/proc/" + std::to_string(rank) + "/status"), caught = "SigCgt:";
    return std::stoull(status.substr(status.find(caught) + caught.size()), nullptr, 16) >> (SIGTERM - 1) & 1;
  };
  wait_for([&] { return std::ranges::count_if(rank_processes(box), catches_signal) == 2; });
  for (const int rank : rank_processes(box)) ::kill(rank, SIGTERM);
  const Outcome outcome = job.wait();
  INFO(outcome.err);
  CHECK(outcome.tells("stopped before the training began: no run was made"));
  CHECK_FALSE(box.has("run"));
}

TEST_CASE("mpirun: what cannot be done together is refused in one line of a rank") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  const std::string binary = TAPEFORMER_BINARY;
  const Outcome seeds = run_job(box, "-n 1 " + binary + " train tiny.toml --out run : -n 1 " + binary +
                                         " train tiny.toml --out run --train.seed 2");
  CHECK(seeds.exit_code != 0);
  CHECK(seeds.tells("tapeformer: rank 1: train.seed: expected 1, which rank 0 has, got 2\n"));
  CHECK_FALSE(box.has("run"));
  const Outcome few = run_job(box, train(2, "tiny.toml --out run --train.accumulate 1"));
  CHECK(few.exit_code == kUsage);
  CHECK(few.tells("tapeformer: rank 0: train.accumulate: expected at least 2, a micro-step for each rank, got 1 "));
  CHECK_FALSE(few.tells("rank 1: train"));
  CHECK_FALSE(box.has("run"));
}

TEST_CASE("mpirun: ranks that step by themselves resume with the bits of a run that was not cut") {
  if (skipped()) return;
  const Sandbox box;
  prepare(box);
  const std::string options = " --train.sync_every 2 --train.comm bf16 --eval.every 4 --train.steps 8";
  check_success(run_job(box, train(2, "tiny.toml --out whole" + options)));
  check_success(run_job(box, train(2, "tiny.toml --out cut" + options + " --train.max_minutes 0.00001")));
  CHECK(box.has("cut/checkpoints/step-000002"));
  check_success(run_job(box, train(2, "--resume cut --train.max_minutes 0")));
  check_same_checkpoint(box, "cut/checkpoints/step-000008", "whole/checkpoints/step-000008");
}

TEST_CASE("mpirun: a program without its module says what is missing") {
  const Sandbox box;
  fs::copy_file(TAPEFORMER_BINARY, box / "tapeformer");
  Process process(box / "",
                  {"/usr/bin/env", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "./tapeformer", "train",
                   "--data.corpus", "stories", "--out", "run"},
                  "");
  const Outcome outcome = process.wait();
  CHECK(outcome.exit_code == kFailure);
  CHECK(outcome.err == "tapeformer: rank 0: started as one of several ranks, but " +
                           (fs::canonical(box / "") / "libtapeformer_mpi.so").string() +
                           " is missing: build with Open MPI installed (scripts/setup.sh --mpi)\n");
  CHECK_FALSE(box.has("run"));
}
