const MODULUS: u128 = 1_000_000_007;
type Matrix = [[u128; 2]; 2];

fn times(a: Matrix, b: Matrix) -> Matrix {
    let mut product = [[0; 2]; 2];
    for (i, row) in product.iter_mut().enumerate() {
        for (j, cell) in row.iter_mut().enumerate() {
            *cell = (a[i][0] * b[0][j] + a[i][1] * b[1][j]) % MODULUS;
        }
    }
    product
}

fn main() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let mut n: u64 = line.trim().parse().unwrap();
    let (mut result, mut power) = ([[1, 0], [0, 1]], [[1, 1], [1, 0]]);
    while n > 0 {
        if n % 2 == 1 {
            result = times(result, power);
        }
        power = times(power, power);
        n /= 2;
    }
    println!("{}", result[0][0]);
}
