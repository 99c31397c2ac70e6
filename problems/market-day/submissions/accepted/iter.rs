use std::io::{read_to_string, stdin};

fn main() {
    let text = read_to_string(stdin()).unwrap();
    let paid: Vec<u64> = text.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect();
    println!("{} {}", paid.iter().sum::<u64>(), paid.iter().max().unwrap());
}
