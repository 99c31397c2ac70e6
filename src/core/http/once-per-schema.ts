/**
 * Compiles a schema when it is first needed, and once for all routes that share it. To compile those of all routes took most of a
 * server's start, and a process is asked for few of them.
 */
export function oncePerSchema<Schema extends object, Compiled>(
  compile: (schema: Schema) => Compiled,
): (schema: Schema) => Compiled {
  const known = new WeakMap<Schema, Compiled>()
  return (schema) => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const compiled = compile(schema)
    known.set(schema, compiled)
    return compiled
  }
}
