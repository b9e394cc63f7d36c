/* SipHash against the vectors that its authors publish: bytes 0, 1, 2 … under the key 0, 1 … 15. */
#include "common/siphash.h"
#include <criterion/criterion.h>

Test(siphash, gives_what_its_authors_say) {
    static const struct {
        size_t length;
        uint64_t hash;
    } vectors[] = {{0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
                   {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
                   {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)}};
    unsigned char key[16], bytes[64];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        cr_assert_eq(siphash(key, bytes, vectors[i].length), vectors[i].hash, "%zu bytes",
                     vectors[i].length);
}
