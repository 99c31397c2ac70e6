class Pennant {
  public static void main(String[] arguments) {
    int n = new java.util.Scanner(System.in).nextInt();
    StringBuilder drawing = new StringBuilder();
    for (int i = 1; i < 2 * n; i++) drawing.append("X").append(" o".repeat(n - Math.abs(n - i) - 1)).append("\n");
    System.out.print(drawing);
  }
}
