#include <iostream>
#include <string>

int main() {
  int low = 1, high = 1000000;
  while (low < high) {
    int middle = (low + high) / 2;
    std::cout << "? " << middle << std::endl;
    std::string answer;
    std::cin >> answer;
    if (answer == "reaches") high = middle;
    else low = middle + 1;
  }
  std::cout << "! " << low << std::endl;
}
