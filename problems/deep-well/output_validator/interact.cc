// input answer feedback/: speaks with the submission on its standard input and output; exit 42 accepts, 43 rejects.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace {

std::string feedback;

[[noreturn]] void reject(const std::string &message) {
  std::ofstream(feedback + "judgemessage.txt") << message << "\n";
  std::exit(43);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) return 1;
  std::ifstream input(argv[1]);
  feedback = argv[3];
  long long depth, length;
  input >> depth;
  std::string what;
  for (int questions = 0;; questions++) {
    if (!(std::cin >> what >> length)) reject("The submission ended without an answer.");
    if (what == "!") break;
    if (what != "?") reject("Neither a question nor an answer.");
    if (questions == 20) reject("More than 20 questions.");
    if (length < 1 || length > 1000000) reject("There is no rope of that length.");
    std::cout << (depth <= length ? "reaches" : "short") << std::endl;
  }
  if (length != depth) reject("That is not how deep it is.");
  if (std::cin >> what) reject("There is more after the answer.");
  return 42;
}
