/** An unusable configuration. The message contains the remedy. */
export class ConfigError extends Error {}
