import { Type, type TSchema } from 'typebox'

export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** Any object: what is in it is for others. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** An id of this door. One that nobody has is a 404, not a mistake. */
export const Id = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })
