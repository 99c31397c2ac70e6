#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

int main() {
  long long n, parcel;
  std::cin >> n >> parcel;
  std::vector<std::pair<long long, int>> weights(n);
  for (int i = 0; i < n; i++) {
    std::cin >> weights[i].first;
    weights[i].second = i + 1;
  }
  std::sort(weights.begin(), weights.end());
  size_t low = 0, high = n - 1;
  while (low < high) {
    long long sum = weights[low].first + weights[high].first;
    if (sum == parcel) {
      std::cout << weights[high].second << "\n" << weights[low].second << "\n";
      return 0;
    }
    if (sum < parcel) low++;
    else high--;
  }
  std::cout << "impossible\n";
}
