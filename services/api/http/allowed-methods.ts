import type { FastifyInstance } from 'fastify'

/** The methods that the path of a URL answers; none when there is no such path. */
export const allowedMethods = (app: FastifyInstance, url: string): readonly string[] =>
  app.supportedMethods.filter((method) => app.findRoute({ method, url }) !== null)
