/* SHA-256 against FIPS 180-4's examples and HMAC-SHA-256 against RFC 4231's. */
#include "supervisor/sha256.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void expect_hex(const unsigned char digest[SHA256_BYTES], const char *wanted) {
    char text[2 * SHA256_BYTES + 1];
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    cr_expect_str_eq(text, wanted);
}

Test(sha256, gives_what_the_standard_says_however_the_bytes_come) {
    static const struct {
        const char *text, *digest;
    } cases[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                 {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    unsigned char digest[SHA256_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step < 60; step += 7) {
            struct sha256 sha = sha256_begin();
            size_t length = strlen(cases[i].text);
            for (size_t at = 0; at < length; at += step)
                sha256_add(&sha, cases[i].text + at, length - at < step ? length - at : step);
            sha256_end(&sha, digest);
            expect_hex(digest, cases[i].digest);
        }
    struct sha256 sha = sha256_begin();
    for (int i = 0; i < 1000000; i++)
        sha256_add(&sha, "a", 1);
    sha256_end(&sha, digest);
    expect_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Test(sha256, makes_the_macs_of_rfc_4231) {
    unsigned char mac[SHA256_BYTES], key[131];
    memset(key, 0x0b, 20);
    hmac_sha256(key, 20, "Hi There", 8, mac);
    expect_hex(mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, mac);
    expect_hex(mac, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    hmac_sha256(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First", 54, mac);
    expect_hex(mac, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

Test(sha256, compares_all_bytes) {
    cr_expect(bytes_equal_slowly("abcd", "abcd", 4));
    cr_expect_not(bytes_equal_slowly("abcd", "abce", 4));
    cr_expect(bytes_equal_slowly("a", "b", 0));
}
