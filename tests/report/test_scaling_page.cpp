// The page of scaling laws.
#include "report/scaling_page.h"

#include "tests/report/browser.h"

using namespace tapeformer;
using Json = nlohmann::ordered_json;

TEST_CASE("scaling page: a chart of the law, the prediction and the trainings, without a message in the console") {
  const auto around = [](double value) { return Json{{"value", value}, {"low", 0.9 * value}, {"high", 1.1 * value}}; };
  const Json law{
      {"law", "L(N)"},
      {"of", {"N"}},
      {"points", 2},
      {"fitted", true},
      {"irreducible", around(0.5)},
      {"terms", Json::array({{{"exponent", around(0.25)}, {"scale", around(1e4)}}})},
      {"residual", 0.004},
      {"places", {{1e5, 1.06}, {1e6, 0.82}}},
      {"curve",
       {{"x", {1e5, 1e6, 1e7}}, {"loss", {1.06, 0.82, 0.68}}, {"low", {1, 0.8, 0.6}}, {"high", {1.1, 0.9, 0.7}}}},
      {"prediction", {{"x", {1e7}}, {"loss", 0.68}, {"low", 0.6}, {"high", 0.7}}}};
  Json joint = law;
  joint["law"] = "L(N, D)";
  joint["of"] = {"N", "D"};
  joint["terms"].push_back(joint["terms"][0]);
  joint["prediction"]["x"].push_back(1e9);
  for (const char* key : {"curve", "places"}) joint.erase(key);
  const Json run{{"name", "small <b>"}, {"N", 1e5}, {"D", nullptr}, {"C", nullptr}, {"loss", 1.06}};
  const Json result{{"unit", "nats per token"},
                    {"runs", {run}},
                    {"laws", {law, joint}},
                    {"skipped", Json::array({{{"law", "L(D)"}, {"why", "it needs more"}}})},
                    {"sweep",
                     {{"written", "2026-01-02T03:04:05Z"},
                      {"largest", 1e7},
                      {"predicted", around(0.68)},
                      {"measured", 0.69},
                      {"error", 0.0147},
                      {"tokens", 3e6},
                      {"seconds", 61}}}};
  const std::string page = scaling_page(result);
  CHECK(data_of(page) == result);
  if (!has_browser()) return;
  const std::string dom = opened(page, "500,1400");
  CHECK(dom.find("L(N) = 0.5 + (10,000 / N)^0.25") != dom.npos);
  CHECK(dom.find(
            "predicted 0.68 [0.612, 0.748] at 2026-01-02T03:04:05Z, before it was trained; measured 0.69 (+1.47 %)") !=
        dom.npos);
  CHECK(dom.find("the largest, trained after the prediction") != dom.npos);
  CHECK(dom.find("L(D) is not fitted: it needs more") != dom.npos);
  CHECK(dom.find("small &lt;b&gt;") != dom.npos);
  CHECK(count(dom, "<canvas") >= 1);
}

TEST_CASE("scaling page: numbers that are too large for JSON are infinite, and their charts are drawn") {
  const Json law{
      {"law", "L(N)"},
      {"of", {"N"}},
      {"points", 4},
      {"fitted", true},
      {"irreducible", {{"value", 0}, {"low", 0}, {"high", 1.3}}},
      {"terms", Json::array({{{"exponent", {{"value", 0.004}, {"low", -0.001}, {"high", 0.01}}},
                              {"scale", {{"value", 7e138}, {"low", 4e41}, {"high", nullptr}}}}})},
      {"residual", 0.0016},
      {"places", {{1e5, 3.8}, {1e6, 3.7}}},
      {"curve", {{"x", {1e5, 1e6, 1e7}}, {"loss", {3.8, 3.7, 3.6}}, {"low", {3.7, 3, 0}}, {"high", {3.9, 8, nullptr}}}},
      {"prediction", {{"x", {1e7}}, {"loss", 3.6}, {"low", 0}, {"high", nullptr}}}};
  const Json result{{"unit", "nats per token"},
                    {"runs", Json::array({{{"name", "a"}, {"N", 1e5}, {"D", 1e3}, {"C", 6e8}, {"loss", 3.8}}})},
                    {"laws", Json::array({law})},
                    {"skipped", Json::array()}};
  if (!has_browser()) return;
  const std::string dom = opened(scaling_page(result));
  CHECK(dom.find("7e138 [4e41, ∞]") != dom.npos);
  CHECK(dom.find("3.6 [0, ∞]") != dom.npos);
  CHECK(count(dom, "<canvas") >= 1);
  CHECK(dom.find("<h2>Trainings</h2>") != dom.npos);
}
