/* SPDX-License-Identifier: MIT
 *
 * Recognises the names of table columns and JSON members that state the file or the label of a
 * sample. The same names are accepted in CSV files, JSON Lines files, augmented manifests and
 * tables of other programs, in upper or lower case. */
#ifndef FORMATS_COLUMN_NAMES_H
#define FORMATS_COLUMN_NAMES_H

enum column_role {
    COLUMN_PATH,                /* path, file, file_name, filename, image */
    COLUMN_LABEL,               /* label, labels */
    /* A column with the keys of samples, in a file that lists keys. Its name is key, __key__, path,
     * file, file_name, filename or image. In a list of files, the last five of these names mean
     * COLUMN_PATH instead. */
    COLUMN_KEY,
    /* A column with the label, or with the name of the label's class. The column is called class or
     * class_name. */
    COLUMN_CLASS
};

#define COLUMN_RANK_NONE 100u

/* Returns how good a column name is for the role `role`; 0 is best. If several columns of a file
 * have the role, the column with the lowest rank is used. Returns COLUMN_RANK_NONE if the name does
 * not have the role. */
unsigned column_rank(enum column_role role, const char *name);

#endif
