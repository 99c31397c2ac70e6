const [, second] = require('fs').readFileSync(0, 'utf8').split('\n')
const paid = second.split(' ').map(Number)
console.log(paid.reduce((a, b) => a + b), Math.max(...paid))
