/** A key and a self-signed certificate for `localhost`, only for these tests. */
export const selfSigned = {
  key: [
    "-----BEGIN PRIVATE KEY-----",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2H2ihxci+btKXgR8",
    "uuGw9qbW7KSHSikK/4Hk1cwe0GihRANCAAQhW1UBvTgqFZy3AKCmnRLqQ0ZIdz7+",
    "rCuY5hp+v1qMfSZIc/tkBW00EMJ9JqUMr8zEpICHscaGAUO7A8Q3drI/",
    "-----END PRIVATE KEY-----",
  ].join("\n"),
  cert: [
    "-----BEGIN CERTIFICATE-----",
    "MIIBnDCCAUGgAwIBAgIUHwCkzHxR0Vxk52ZqPSZ1d9rTMWEwCgYIKoZIzj0EAwIw",
    "FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTAwMDQ1M1oYDzIxMjYxMDI4",
    "MDAwNDUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO",
    "PQMBBwNCAAQhW1UBvTgqFZy3AKCmnRLqQ0ZIdz7+rCuY5hp+v1qMfSZIc/tkBW00",
    "EMJ9JqUMr8zEpICHscaGAUO7A8Q3drI/o28wbTAdBgNVHQ4EFgQUwAbOWvCP5lAh",
    "BRut+r2MDNLsat4wHwYDVR0jBBgwFoAUwAbOWvCP5lAhBRut+r2MDNLsat4wDwYD",
    "VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI",
    "zj0EAwIDSQAwRgIhAIgZENyQXRVNdgh1nzfusERkFumY/4RtuTGyQihh/swcAiEA",
    "7do3w50Tkjin6j0wLIBCAJfAkRUFKfsE3dQUcrNlygs=",
    "-----END CERTIFICATE-----",
  ].join("\n"),
};

/** The same for `service.example`, a name that only a proxy resolves. */
export const exampleSigned = {
  key: [
    "-----BEGIN PRIVATE KEY-----",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAV5musnfi6cBEp4G",
    "KwbhtMU2pyKnX9rJAr9SvgcJCwShRANCAAR3lt2d6PtCT2Nh32m/hP4aQ0Hu5law",
    "kQzClkHslWVNqhS3bxlP980xjHs4ax33VoRLFLlpm916s/mkjko+/l0m",
    "-----END PRIVATE KEY-----",
  ].join("\n"),
  cert: [
    "-----BEGIN CERTIFICATE-----",
    "MIIBpzCCAU2gAwIBAgIUE3+aqLwatiiDs7yqW5BkWlCSspcwCgYIKoZIzj0EAwIw",
    "GjEYMBYGA1UEAwwPc2VydmljZS5leGFtcGxlMCAXDTI2MTEyMTAzNTMyNVoYDzIx",
    "MjYxMDI4MDM1MzI1WjAaMRgwFgYDVQQDDA9zZXJ2aWNlLmV4YW1wbGUwWTATBgcq",
    "hkjOPQIBBggqhkjOPQMBBwNCAAR3lt2d6PtCT2Nh32m/hP4aQ0Hu5lawkQzClkHs",
    "lWVNqhS3bxlP980xjHs4ax33VoRLFLlpm916s/mkjko+/l0mo28wbTAdBgNVHQ4E",
    "FgQUY5ze6im9nNz/6AvwDETacgwmLB0wHwYDVR0jBBgwFoAUY5ze6im9nNz/6Avw",
    "DETacgwmLB0wGgYDVR0RBBMwEYIPc2VydmljZS5leGFtcGxlMA8GA1UdEwEB/wQF",
    "MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAOb2S5rrGefhU8nuYycVgeXDONogu2UB",
    "RnZRilKOpMpaAiAcDZXqKFMcvtIF/x28uagWvqomTyJSummvHsY6ilA2Lw==",
    "-----END CERTIFICATE-----",
  ].join("\n"),
};

/** The same for `localhost`, valid only on January 1, 2020. */
export const expiredSigned = {
  key: [
    "-----BEGIN PRIVATE KEY-----",
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghOCKN5pmDBPz3i62",
    "GH9KBvyUmUAMcyZMHXB188OfMU+hRANCAAQ7dbKuEicWXKgVCw6DBMJtKV3B2gva",
    "nsCfIH6tsINUB4zsfV20XiZhohA8cPy3aGY3Q+mBdAaBBMXVLhDfy5DP",
    "-----END PRIVATE KEY-----",
  ].join("\n"),
  cert: [
    "-----BEGIN CERTIFICATE-----",
    "MIIBZDCCAQugAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv",
    "c3QwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMTAyMDAwMDAwWjAUMRIwEAYDVQQDDAls",
    "b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ7dbKuEicWXKgVCw6D",
    "BMJtKV3B2gvansCfIH6tsINUB4zsfV20XiZhohA8cPy3aGY3Q+mBdAaBBMXVLhDf",
    "y5DPo04wTDAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDwYDVR0TAQH/BAUw",
    "AwEB/zAdBgNVHQ4EFgQUWCpzFixVTYoHHtASqxuNU+6WwzgwCgYIKoZIzj0EAwID",
    "RwAwRAIgd+hsu//r9cOtNVDKsHetzKnho8h5ETU9a7+InQhca4gCICCGC7w/r+6L",
    "T/a0oWhpaQsQ4pFctv/TnpULqWBGxaya",
    "-----END CERTIFICATE-----",
  ].join("\n"),
};
