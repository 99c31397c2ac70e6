// node flood-process.ts PORT SOCKETS REQUESTS PATH…: connections that each send all requests at once. Says when all are sent.
import { once } from 'node:events'
import net from 'node:net'

const [port = '', sockets = '', requests = '', ...paths] = process.argv.slice(2)

const text = Array.from(
  { length: Number(requests) },
  (_, n) => `GET ${paths[n % paths.length]} HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n`,
).join('')

const connections = await Promise.all(
  Array.from({ length: Number(sockets) }, async () => {
    const socket = net.connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }),
)
for (const socket of connections) {
  socket.on('error', () => {})
  socket.resume()
  socket.write(text)
}
console.log('sent')
