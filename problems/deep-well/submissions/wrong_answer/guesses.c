#include <stdio.h>

int main(void) {
  puts("! 500000");
  return 0;
}
