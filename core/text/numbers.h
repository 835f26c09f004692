// Formats numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace tapeformer {

// Formats a duration: "42s", "3m12s", "2h05m", "3d04h", to the nearest unit; "?" for a number that is not a duration.
std::string format_duration(double seconds);

// Formats a count in groups of three digits: "3,152,384".
std::string format_count(std::int64_t count);

// Formats a number with three digits and a unit: "950", "41.2k", "1.20M".
std::string format_rate(double value);

// Formats a size in powers of ten: "29 kB", "512 MB", "1.2 GB".
std::string format_bytes(std::int64_t bytes);

// Formats a perplexity: "23.10"; from a million on "5.4e85", where more digits are meaningless.
std::string format_perplexity(double value);

}  // namespace tapeformer
