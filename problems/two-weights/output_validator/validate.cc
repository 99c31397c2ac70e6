// input answer feedback/ < output: exit 42 accepts, 43 rejects.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

std::string feedback;

[[noreturn]] void end(int code, const std::string &message) {
  std::ofstream(feedback + "judgemessage.txt") << message << "\n";
  std::exit(code);
}

[[noreturn]] void reject(const std::string &message) { end(43, message); }

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) return 1;
  std::ifstream input(argv[1]), answer(argv[2]);
  feedback = argv[3];
  long long n, parcel;
  input >> n >> parcel;
  std::vector<long long> weights(n);
  for (auto &weight : weights) input >> weight;
  std::string expected, got, more;
  answer >> expected;

  if (!(std::cin >> got)) reject("There is no output.");
  if (got == "impossible") {
    if (expected != "impossible") reject("There is a pair.");
  } else {
    long long first = 0, second = 0;
    try {
      size_t read = 0;
      first = std::stoll(got, &read);
      if (read != got.size()) reject("The first position is not a number.");
    } catch (...) {
      reject("The first position is not a number.");
    }
    if (!(std::cin >> second)) reject("The second position is missing.");
    if (first < 1 || first > n || second < 1 || second > n) reject("A position is not from 1 to n.");
    if (first == second) reject("The two positions are the same.");
    if (weights[first - 1] + weights[second - 1] != parcel) reject("The two do not balance the parcel.");
    if (expected == "impossible") end(1, "The judges found no pair, and there is one.");
  }
  if (std::cin >> more) reject("There is more output than two positions.");
  end(42, "");
}
