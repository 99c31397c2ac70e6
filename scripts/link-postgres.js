// The embedded PostgreSQL lacks its symbolic links where npm runs no install scripts. The server makes them at its first start, unless what is
// installed belongs to another user or is read-only, as in a service or an image: so they are made by whoever installs it.
import { findBinaries } from '../dist/core/embedded/binaries.js'

await findBinaries().catch((error) => console.warn(error.message)) // another platform: DATABASE_URL is needed, as the message says
