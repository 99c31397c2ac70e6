// Ends with 0 if the server of this container is ready.
// oxlint-disable-next-line node/no-process-env
const { SERVER_PORT = '8080' } = process.env
const answer = await fetch(`http://127.0.0.1:${SERVER_PORT}/readyz`).catch(() => null)
process.exit(answer?.ok === true ? 0 : 1)
