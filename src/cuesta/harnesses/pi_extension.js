// Loaded by `pi --extension` for one run of `cuesta run`: gives providers another address and
// changes nothing else about them. CUESTA_PI_PROVIDERS holds the addresses, by provider.
export default function (pi) {
  const addresses = JSON.parse(process.env.CUESTA_PI_PROVIDERS ?? "{}");
  for (const [provider, baseUrl] of Object.entries(addresses)) {
    pi.registerProvider(provider, { baseUrl });
  }
}
