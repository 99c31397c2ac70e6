#include <bits/stdc++.h>
using namespace std;

int main() {
  int n;
  cin >> n;
  vector<long long> paid(n);
  for (auto &one : paid) cin >> one;
  cout << accumulate(paid.begin(), paid.end(), 0LL) << ' ' << *max_element(paid.begin(), paid.end()) << '\n';
}
