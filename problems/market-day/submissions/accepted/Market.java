import java.util.Scanner;

public class Market {
  public static void main(String[] arguments) {
    Scanner in = new Scanner(System.in);
    int n = in.nextInt();
    long sum = 0, largest = 0;
    for (int i = 0; i < n; i++) {
      long paid = in.nextLong();
      sum += paid;
      largest = Math.max(largest, paid);
    }
    System.out.println(sum + " " + largest);
  }
}
